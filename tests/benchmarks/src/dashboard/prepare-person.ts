import { readFileSync, readdirSync } from 'node:fs';
import { until } from '@gateway/testkit';
import { fillLedger } from '../billing/fill-ledger.js';
import type { SettlingSystem } from '../billing/settling.js';
import { createOperatorClient } from '../gateway/prepare.js';

/** Each hour has calls of each pair of key and model. */
const [KEYS, MODELS, MEMBERS] = [25, 8, 5];
const REFUSED_MINUTES = 20_000;
const REFUSED_CODES = ['rate_limited', 'insufficient_funds', 'model_not_found'];
const PASSWORD = 'a million calls, and no more';

/** A user with a session, whose account has all usage records. */
export interface Person {
  /** Of the account in the pages' API. */
  readonly url: string;
  readonly cookie: string;
  readonly account: string;
  readonly keys: readonly string[];
  readonly models: readonly string[];
  readonly members: readonly string[];
}

/** Signs a user up, adds credit and keys, and fills the ledger while billing is stopped. */
export async function preparePerson(settling: SettlingSystem, records: number): Promise<Person> {
  const { system, admin } = settling;
  const { cookie, account, member } = await signUp(system.running().dashboardUrl, system.mailbox.directory);
  const api = createOperatorClient(system.running().pids);
  const path = `/accounts/${account}`;
  const credit = { amountUsd: '100000', kind: 'credit', reason: 'bench', reference: 'bench' };
  await api('POST', `${path}/wallet/entries`, credit);
  await api('PUT', `${path}/limits`, { requestsPerMinute: 600, concurrency: 10, maxActiveKeys: 1_000 });
  const keys: string[] = [];
  for (let key = 0; key < KEYS; key += 1)
    keys.push((await api<{ id: string }>('POST', `${path}/keys`, { name: `key ${key}` })).id);
  const members = [member, ...Array.from({ length: MEMBERS - 1 }, (_, n) => `mem_bench_${n}`)];
  const models = Array.from({ length: MODELS }, (_, n) => `acme/model-${n}`);
  const payers = keys.flatMap((key, n) =>
    models.map((model) => ({ account, key, member: members[n % MEMBERS] ?? '', model })),
  );
  await settling.stopBilling();
  await fillLedger(admin, records, payers);
  // Refused calls of the last days, one error code per minute.
  await admin.query(
    `INSERT INTO billing.refused_calls (account, minute_ms, code, key_id, calls, last_ids)
     SELECT $1, ($2::bigint / 60000 - number) * 60000, ($3::text[])[1 + number % 3], ($4::text[])[1 + number % $5::int], 7,
            ARRAY[(lpad(to_hex($2::bigint - number * 60000), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8'
                   || substr(md5(random()::text), 1, 15))::uuid]
       FROM generate_series(0, $6::int - 1) AS number`,
    [account, Date.now(), REFUSED_CODES, keys, keys.length, REFUSED_MINUTES],
  );
  await settling.billing.start();
  const url = `${system.running().dashboardUrl}/api/accounts/${account}`;
  return { url, cookie, account, keys, models, members };
}

async function signUp(dashboardUrl: string, mails: string) {
  const send = (path: string, body: object): Promise<Response> =>
    fetch(`${dashboardUrl}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await send('/sign-up', { name: 'Bench', email: 'bench@example.com' });
  const token = await until('the verification email', () => findToken(mails));
  const response = await send('/verify-email', { token, password: PASSWORD });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`verify-email: ${response.status} ${text}`);
  const { accounts } = JSON.parse(text) as { accounts: readonly { id: string; memberId: string }[] };
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  return { cookie: cookies.join('; '), account: accounts[0]?.id ?? '', member: accounts[0]?.memberId ?? '' };
}

function findToken(directory: string): string | undefined {
  const texts = readdirSync(directory)
    .filter((file) => file.endsWith('.eml'))
    .map((name) => readFileSync(`${directory}/${name}`, 'utf8'));
  const decoded = texts
    .join('\n')
    .replace(/=\r?\n/g, '')
    .replaceAll('=3D', '=');
  return /\/verify#token=([\w-]{43})/.exec(decoded)?.[1];
}
