import { until } from '@gateway/testkit';
import { fillLedger } from '../billing/fill-ledger.js';
import type { SettlingSystem } from '../billing/settling.js';
import { createOperatorClient } from '../gateway/prepare.js';

/** Each hour has calls of each pair of key and model. */
const [KEYS, MODELS, MEMBERS] = [25, 8, 5];
const PASSWORD = 'a million calls, and no more';

/** A user with a session, whose account has all usage records. */
export interface Person {
  /** Of the account in the pages' API. */
  readonly url: string;
  readonly cookie: string;
  readonly keys: readonly string[];
  readonly models: readonly string[];
}

/** Signs a user up, adds credit and keys, and fills the ledger while billing is stopped. */
export async function preparePerson(settling: SettlingSystem, records: number): Promise<Person> {
  const { system, admin } = settling;
  const { cookie, account, member } = await signUp(settling);
  const api = createOperatorClient(system.running().pids);
  const credit = { amountUsd: '100000', kind: 'credit', reason: 'bench', reference: 'bench' };
  await api('POST', `/accounts/${account}/wallet/entries`, credit);
  await api('PUT', `/accounts/${account}/limits`, { requestsPerMinute: 600, concurrency: 10, maxActiveKeys: 1_000 });
  const keys: string[] = [];
  for (let key = 0; key < KEYS; key += 1)
    keys.push((await api<{ id: string }>('POST', `/accounts/${account}/keys`, { name: `key ${key}` })).id);
  const members = [member, ...Array.from({ length: MEMBERS - 1 }, (_, n) => `mem_bench_${n}`)];
  const models = Array.from({ length: MODELS }, (_, n) => `acme/model-${n}`);
  const payers = keys.flatMap((key, n) =>
    models.map((model) => ({ account, key, member: members[n % MEMBERS] ?? '', model })),
  );
  await settling.stopBilling();
  await fillLedger(admin, records, payers);
  await settling.billing.start();
  return { url: `${system.running().dashboardUrl}/api/accounts/${account}`, cookie, keys, models };
}

async function signUp({ system }: SettlingSystem): Promise<{ cookie: string; account: string; member: string }> {
  const send = async (path: string, body: object): Promise<Response> => {
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${system.running().dashboardUrl}/api${path}`, request);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  await send('/sign-up', { name: 'Bench', email: 'bench@example.com' });
  const token = await until('the verification email', async () => {
    const decoded = (await system.mailbox.mails())
      .join('\n')
      .replace(/=\r?\n/g, '')
      .replaceAll('=3D', '=');
    return /\/verify#token=([\w-]{43})/.exec(decoded)?.[1];
  });
  const response = await send('/verify-email', { token, password: PASSWORD });
  const { accounts } = (await response.json()) as { accounts: readonly { id: string; memberId: string }[] };
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  return { cookie: cookies.join('; '), account: accounts[0]?.id ?? '', member: accounts[0]?.memberId ?? '' };
}
