// Applies configuration files with the command line on the real services, first the example of
// docs/operating.md. The tests of services/dashboard cover the errors of files.
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AccountView, AuditEntryView, KeyView, SubscriptionView } from '@gateway/contracts/operator';
import { runOperatorCommand } from '@gateway/dashboard/operator-cli';
import { temporaryDirectory } from '@gateway/testkit';
import type { TestOperator } from '../test/operator.js';
import { sharedSystem } from '../test/system.js';
import type { SharedSystem } from '../test/system.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const KINDS = ['provider', 'model', 'source', 'alias', 'plan', 'account', 'subscription', 'limits', 'key'];

const directory = temporaryDirectory('configuration');
let system: SharedSystem;
let operator: TestOperator;
beforeAll(() => {
  system = sharedSystem();
  operator = system.operator;
});
afterAll(() => directory.remove());

const unique = (): string => randomBytes(6).toString('hex');

/** Runs a command with this file. */
async function run(command: string, text: string, ...more: string[]) {
  const file = join(directory.path, `${unique()}.yaml`);
  writeFileSync(file, text);
  const access = ['--url', system.operatorUrl, '--token', system.operatorToken];
  let [out, error] = ['', ''];
  const to = { out: (part: string) => void (out += part), error: (part: string) => void (error += part) };
  const code = await runOperatorCommand([command, '-f', file, ...more, ...access], {}, to);
  return { code, out, error };
}
const accountNamed = async (name: string): Promise<AccountView> =>
  (await operator.all<AccountView>(`/accounts?externalId=${name}`))[0] as AccountView;
const linesOf = (out: string): string[] => out.trimEnd().split('\n');

/** The example of the page, with names of this run and a period that is running. */
function readExample(name: string): string {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
  const [, example = ''] = /```yaml\n(objects:\n[\s\S]*?)```/.exec(page) ?? [];
  const [start, end] = [-86_400_000, 86_400_000 * 27].map((ms) => new Date(Date.now() + ms).toISOString());
  return example
    .replaceAll(/\b(?:acme|large|team|ml)\b/g, (word) => `${word}-${name}`)
    .replace(/periodStart: [^\s,}]+/, `periodStart: '${start}'`)
    .replace(/periodEnd: [^\s,}]+/, `periodEnd: '${end}'`);
}

test('the documented file is applied twice, compared, and applied after other changes', async () => {
  const name = unique();
  const file = readExample(name);
  const secrets = join(directory.path, 'secrets.json');
  writeFileSync(join(directory.path, `acme-${name}-key`), `canary-credential-${name}\n`);

  const before = await run('drift', file);
  expect([before.code, before.error]).toEqual([2, '']);
  expect(before.out).toContain('9 to change, 0 unchanged.');
  expect(await run('apply', file)).toMatchObject({ code: 2, out: '', error: expect.stringContaining('--secrets-to') });
  expect(await accountNamed(`ml-${name}`)).toBeUndefined();

  const made = await run('apply', file, '--secrets-to', secrets);
  expect([made.code, made.error]).toEqual([0, '']);
  expect(
    linesOf(made.out)
      .map((line) => line.split(' ')[0])
      .sort(),
  ).toEqual([...KINDS, '9'].sort());
  const account = await accountNamed(`ml-${name}`);
  const { items } = JSON.parse(readFileSync(secrets, 'utf8')) as { items: [{ stringData: { 'api-key': string } }] };
  const secret = items[0].stringData['api-key'];
  expect([items.length, statSync(secrets).mode & 0o777]).toEqual([1, 0o600]);
  const models = await fetch(`${system.chatBaseUrl}/models`, { headers: { authorization: `Bearer ${secret}` } });
  expect([models.status, await models.text()]).toEqual([200, expect.stringContaining(`acme-${name}/large`)]);

  const objects = [
    `acme-${name}`,
    `acme-${name}/large-${name}-1`,
    `acme-${name}-large-${name}-1`,
    `large-${name}`,
    `team-${name}`,
  ];
  const audited = async (): Promise<number> => {
    const paths = [`accountId=${account.id}`, ...objects.map((id) => `objectId=${id}`)];
    const lists = await Promise.all(paths.map((query) => operator.all<AuditEntryView>(`/audit?${query}`)));
    return lists.flat().length;
  };
  const entries = await audited();
  expect(entries).toBeGreaterThanOrEqual(9);
  expect(await run('apply', file)).toEqual({ code: 0, out: '0 changed, 9 unchanged.\n', error: '' });
  expect(await run('drift', file)).toEqual({ code: 0, out: '0 to change, 9 unchanged.\n', error: '' });
  expect(await audited()).toBe(entries);

  await changeByHand(name, account.id);
  const drift = await run('drift', file);
  const changed = [
    `provider acme-${name}: changed, name By hand -> Acme`,
    `model acme-${name}/large-${name}-1: changed, displayName By hand -> Large 1`,
    `source acme-${name}-large-${name}-1: changed, weight 7 -> 1`,
    `alias large-${name}: created`,
    expect.stringMatching(`^plan team-${name}: changed, version 2 -> 3, tier by hand -> team-${name}$`),
    expect.stringMatching(`^subscription ml-${name}: changed, .*renews false -> true`),
    `limits ml-${name}: changed, concurrency 3 -> none, requestsPerMinute none -> 600`,
  ];
  expect([drift.code, drift.error, linesOf(drift.out)]).toEqual([2, '', [...changed, '7 to change, 2 unchanged.']]);
  const repaired = await run('apply', file);
  expect([repaired.code, repaired.error, linesOf(repaired.out)]).toEqual([
    0,
    '',
    [...changed, '7 changed, 2 unchanged.'],
  ]);
  expect((await run('drift', file)).code).toBe(0);

  const told = JSON.stringify([before, made, drift, repaired]);
  expect(told).not.toContain(`canary-credential-${name}`);
  expect(told).not.toContain(secret);
});

async function changeByHand(name: string, account: string): Promise<void> {
  const put = async (path: string, change: object): Promise<unknown> =>
    operator.must('PUT', path, { ...(await operator.must<object>('GET', path)), ...change });
  await put(`/providers/acme-${name}`, { name: 'By hand' });
  await put(`/models/acme-${name}/large-${name}-1`, { displayName: 'By hand' });
  await put(`/sources/acme-${name}-large-${name}-1`, { weight: 7 });
  await operator.must('DELETE', `/aliases/large-${name}`);
  await put(`/plans/team-${name}`, { tier: 'by hand' });
  const { planId, periodStart, periodEnd } = await operator.must<SubscriptionView>(
    'GET',
    `/accounts/${account}/subscription`,
  );
  await operator.must('PUT', `/accounts/${account}/subscription`, { planId, periodStart, periodEnd, renews: false });
  await operator.must('PUT', `/accounts/${account}/limits`, { concurrency: 3 });
}

test('states of accounts and keys follow the file, and a revoked key stays revoked', async () => {
  const name = `ml-${unique()}`;
  const owner = { name: 'ML', email: `${name}@example.com`, emailVerified: true };
  const file = (account: string, key: string): string =>
    JSON.stringify([
      { kind: 'key', id: `${name}/ci`, spec: { name: 'CI', state: key } },
      { kind: 'account', id: name, spec: { ...owner, state: account } },
    ]);
  const secrets = ['--secrets-to', join(directory.path, `${name}.json`)];
  // The account has neither a plan nor money yet.
  const first = await run('apply', file('active', 'active'), ...secrets);
  expect([first.code, first.out]).toEqual([1, `account ${name}: created\n`]);
  expect(first.error).toMatch(
    new RegExp(`^key ${name}/ci: a key needs an active plan.*\\n1 changed, 0 unchanged, 1 failed`),
  );
  const { id } = await accountNamed(name);
  await operator.credit(id, '5.00');
  expect(await run('apply', file('active', 'active'), ...secrets)).toMatchObject({
    code: 0,
    out: `key ${name}/ci: created\n1 changed, 1 unchanged.\n`,
  });
  expect((await run('apply', file('suspended', 'suspended'))).out).toMatch(
    /state active -> suspended[^]*state active -> suspended/,
  );
  await operator.must('POST', `/accounts/${id}/reinstate`);
  expect(await run('drift', file('suspended', 'suspended'))).toMatchObject({
    code: 2,
    out: expect.stringContaining(`account ${name}: changed, state active -> suspended\n1 to change`),
  });
  expect((await run('apply', file('active', 'revoked'))).code).toBe(0);
  const [key] = await operator.all<KeyView>(`/accounts/${id}/keys`);
  expect(key).toMatchObject({ externalId: 'ci', state: 'revoked' });
  const again = await run('apply', file('active', 'active'));
  expect([again.code, again.error]).toEqual([
    1,
    expect.stringContaining(`key ${name}/ci: the key is revoked, which is final`),
  ]);
  const balance = await operator.must<{ balanceUsd: string }>('GET', `/accounts/${id}/wallet`);
  expect(balance.balanceUsd).toBe('5.00');
});

test('two applies of one file at once create one account, and the next one continues', async () => {
  const name = `ml-${unique()}`;
  const object = { kind: 'account', id: name, spec: { name: 'ML', email: `${name}@example.com` } };
  const results = await Promise.all(Array.from({ length: 3 }, () => run('apply', JSON.stringify([object]))));
  expect(results.filter(({ out }) => out.includes(`account ${name}: created`))).toHaveLength(1);
  expect(await operator.all(`/accounts?externalId=${name}`)).toHaveLength(1);
  expect(await run('apply', JSON.stringify([object]))).toMatchObject({ code: 0, out: '0 changed, 1 unchanged.\n' });
});
