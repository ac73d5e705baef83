// Creates a user whose account has all usage records.
import { readFileSync, readdirSync } from 'node:fs';
import { createPool } from '@gateway/postgres';
import { fillLedger } from '../../../services/billing/bench/fill-ledger.mjs';

/** Each hour has calls of each pair of key and model. */
const [KEYS, MODELS, MEMBERS] = [25, 8, 5];
const REFUSED_MINUTES = 20_000;
const REFUSED_CODES = ['rate_limited', 'insufficient_funds', 'model_not_found'];
const FILL_MS_MAX = 3_600_000;
const GRACE_MS = 10_000;
const MAIL_MS_MAX = 30_000;
const LOOK_MS = 50;
const PASSWORD = 'a million calls, and no more';

/** Signs a user up, adds credit and keys, and fills the ledger while billing is stopped. */
export async function arrange(system, billing, records) {
  const { dashboardUrl, operatorUrl, operatorToken, postgresUrl } = system.running();
  const person = await signUp(dashboardUrl, system.mailbox);
  const operator = (method, path, body) =>
    must(`${operatorUrl}${path}`, { method, body, headers: { authorization: `Bearer ${operatorToken}` } });
  const of = `/accounts/${person.account}`;
  const credit = { amountUsd: '100000', kind: 'credit', reason: 'bench', reference: 'bench' };
  await operator('POST', `${of}/wallet/entries`, credit);
  await operator('PUT', `${of}/limits`, { requestsPerMinute: 600, concurrency: 10, maxActiveKeys: 1_000 });
  const keys = [];
  for (let key = 0; key < KEYS; key += 1) {
    const terms = { name: `key ${key}`, monthlySpendCapUsd: null, allowedModels: null };
    keys.push((await operator('POST', `${of}/keys`, terms)).id);
  }
  const members = [person.member, ...Array.from({ length: MEMBERS - 1 }, (_, index) => `mem_bench_${index}`)];
  const models = Array.from({ length: MODELS }, (_, index) => `acme/model-${index}`);
  const account = person.account;
  const payers = keys.flatMap((key, index) =>
    models.map((model) => ({ account, key, member: members[index % MEMBERS], model })),
  );
  await billing.stop(GRACE_MS);
  const log = { info() {}, warn: console.warn, error: console.error };
  // A single connection keeps the session's settings and temporary tables.
  const admin = createPool(postgresUrl, { applicationName: 'bench', max: 1, statementTimeoutMs: FILL_MS_MAX, log });
  await fillLedger(admin, records, payers);
  await refuse(admin, account, keys);
  await admin.end();
  await billing.start();
  return { person, filled: { keys, models, members } };
}

async function signUp(dashboardUrl, mailbox) {
  const email = 'bench@example.com';
  const send = (path, body) => fetch(`${dashboardUrl}/api${path}`, asJson({ method: 'POST', body, headers: {} }));
  await send('/sign-up', { name: 'Bench', email });
  const token = await tokenOfMail(mailbox.directory);
  const answer = await send('/verify-email', { token, password: PASSWORD });
  const session = await answer.json();
  if (answer.status !== 200) throw new Error(`verify-email: ${answer.status} ${JSON.stringify(session)}`);
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const [{ id: account, memberId: member }] = session.accounts;
  return { url: `${dashboardUrl}/api/accounts/${account}`, cookie, account, member };
}

async function tokenOfMail(directory) {
  const deadlineMs = Date.now() + MAIL_MS_MAX;
  while (Date.now() < deadlineMs) {
    for (const name of readdirSync(directory).filter((file) => file.endsWith('.eml'))) {
      const mail = readFileSync(`${directory}/${name}`, 'utf8')
        .replace(/=\r?\n/g, '')
        .replaceAll('=3D', '=');
      const token = /\/verify#token=([\w-]{43})/.exec(mail)?.[1];
      if (token !== undefined) return token;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error('no verification email arrived in time');
}

/** Adds refused calls of the last days, one error code per minute. */
function refuse(admin, account, keys) {
  return admin.query(
    `INSERT INTO billing.refused_calls (account, minute_ms, code, key_id, calls, last_ids)
     SELECT $1, ($2::bigint / 60000 - number) * 60000, ($3::text[])[1 + number % 3], ($4::text[])[1 + number % $5::int], 7,
            ARRAY[(lpad(to_hex($2::bigint - number * 60000), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8'
                   || substr(md5(random()::text), 1, 15))::uuid]
       FROM generate_series(0, $6::int - 1) AS number`,
    [account, Date.now(), REFUSED_CODES, keys, keys.length, REFUSED_MINUTES],
  );
}

async function must(url, options) {
  const answer = await fetch(url, asJson(options));
  const text = await answer.text();
  if (answer.status >= 300) throw new Error(`${options.method} ${url}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

const asJson = ({ method, body, headers }) => ({
  method,
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
