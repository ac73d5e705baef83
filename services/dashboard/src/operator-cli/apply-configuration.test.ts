import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSealed } from '@gateway/service-kit';
import { temporaryDirectory, type TemporaryDirectory } from '@gateway/testkit';
import { ACCOUNT, KEY, SUBSCRIPTION } from '../../test/examples.js';
import { ROOT_TOKEN, SOURCE_KEYS, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import { runOperatorCommand } from './run.js';

const PERIOD = { periodStart: '2026-01-01T00:00:00Z', periodEnd: '2999-01-01T00:00:00Z' };
const OBJECTS = {
  key: { kind: 'key', id: 'ml/ci', spec: { name: 'CI' } },
  limits: { kind: 'limits', id: 'ml', spec: { concurrency: 4 } },
  subscription: { kind: 'subscription', id: 'ml', spec: { planId: 'pro', ...PERIOD } },
  account: { kind: 'account', id: 'ml', spec: { name: 'ML', email: 'ml@example.com' } },
  provider: { kind: 'provider', id: 'prov', spec: { name: 'Provider', format: 'openai' } },
};
const NAMED = { ...ACCOUNT, name: 'ML', email: 'ml@example.com', externalId: 'ml' };

let world: OperatorWorld;
let directory: TemporaryDirectory;
/** External IDs of the keys of the account. Null: the account does not exist. */
let stored: string[] | null;
beforeAll(async () => {
  directory = temporaryDirectory('apply-configuration');
  world = await startOperatorWorld();
});
afterAll(async () => {
  await world.stop();
  directory.remove();
});
beforeEach(() => {
  world.reset();
  stored = null;
  world.scriptByName('catalog.apply', (body) => ({
    changes: [],
    unchanged: (body as { objects: [] }).objects.length,
    revision: 1,
    inForce: true,
  }));
  world.scriptByName('accounts.list-accounts', () => ({ accounts: stored ? [NAMED] : [], total: 0, nextCursor: null }));
  world.scriptByName('accounts.get-account', () => ({ account: NAMED }));
  world.scriptByName('accounts.create-account', () => {
    stored = [];
    return { account: NAMED };
  });
  world.scriptByName('accounts.list-keys', () => ({
    keys: (stored ?? []).map((externalId) => ({
      ...KEY,
      name: 'CI',
      monthlySpendCapUsd: null,
      allowedModels: null,
      externalId,
    })),
    nextCursor: null,
  }));
  world.scriptByName('accounts.create-key', (body) => ({
    key: { ...KEY, ...(body as { spec: object }).spec },
    repeated: false,
  }));
  world.scriptByName('billing.get-limits', () => ({ limits: { concurrency: 4 } }));
  world.scriptByName('billing.put-limits', (body) => ({ limits: (body as { spec: object }).spec }));
  world.refuseByName('billing.get-subscription', 'not_found');
  world.scriptByName('billing.put-subscription', () => ({ change: 'created', subscription: SUBSCRIPTION }));
});

async function run(line: string, objects: unknown = Object.values(OBJECTS)) {
  const file = join(directory.path, 'objects.yaml');
  writeFileSync(file, typeof objects === 'string' ? objects : JSON.stringify(objects));
  let [out, error] = ['', ''];
  const to = { out: (text: string) => void (out += text), error: (text: string) => void (error += text) };
  const env = { GATEWAY_OPERATOR_URL: world.dashboard.operatorUrl, GATEWAY_OPERATOR_TOKEN: ROOT_TOKEN };
  const code = await runOperatorCommand([...line.split(' '), '--file', file], env, to);
  return { code, out, error };
}
const secretsFile = (name: string) => join(directory.path, name);
/** Names of the changing requests, in order. */
const commands = () =>
  world.asked
    .filter(({ name, body }) => /create|put|set|apply/.test(name) && body['dryRun'] !== true)
    .map(({ name }) => name);

test('apply creates an account, then its plan, limits and keys, and stores secrets', async () => {
  const path = secretsFile('created.json');
  world.scriptByName('billing.get-limits', () => ({ limits: {} }));
  const { code, out, error } = await run(`apply --secrets-to ${path}`);
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(commands()).toEqual([
    'accounts.create-account',
    'billing.put-subscription',
    'billing.put-limits',
    'accounts.create-key',
  ]);
  expect(world.asked.find(({ name }) => name === 'accounts.create-account')?.body).toMatchObject({
    spec: { externalId: 'ml', name: 'ML' },
  });
  expect(world.asked.at(-1)?.body).toMatchObject({ account: 'acc_1', spec: { externalId: 'ci', name: 'CI' } });
  const { items } = JSON.parse(readFileSync(path, 'utf8')) as {
    items: { metadata: object; stringData: Record<string, string> }[];
  };
  expect(items).toMatchObject([{ kind: 'Secret', metadata: { name: 'ml.ci' } }]);
  const secret = items[0]?.stringData['api-key'] ?? '';
  expect(secret).toMatch(/^new_live_/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(out).not.toContain(secret);
  expect(out.split('\n')).toEqual([
    'account ml: created',
    'subscription ml: created',
    'limits ml: changed, concurrency none -> 4',
    'key ml/ci: created',
    '4 changed, 1 unchanged.',
    '',
  ]);
});

test('a new key without a place for its secret is refused before any change', async () => {
  const { code, error } = await run('apply');
  expect([code, error]).toEqual([2, expect.stringMatching(/key ml\/ci is new.*--secrets-to FILE/)]);
  const path = secretsFile('notes.json');
  writeFileSync(path, 'notes');
  expect((await run(`apply --secrets-to ${path}`)).code).toBe(2);
  expect([commands(), readFileSync(path, 'utf8')]).toEqual([[], 'notes']);
});

test('apply of an equal file sends no change, and drift exits with 0', async () => {
  stored = ['ci'];
  world.scriptByName('billing.get-subscription', () => ({
    subscription: { ...SUBSCRIPTION, ...PERIOD, renews: false },
  }));
  expect(await run('apply')).toEqual({ code: 0, out: '0 changed, 5 unchanged.\n', error: '' });
  expect(await run('drift')).toEqual({ code: 0, out: '0 to change, 5 unchanged.\n', error: '' });
  expect(commands()).toEqual([]);
});

test('drift exits with 2 for a difference, as JSON too, and changes nothing', async () => {
  stored = ['ci'];
  const limits = [{ ...OBJECTS.limits, spec: { concurrency: 9, maxActiveKeys: 2 } }];
  const text = 'limits ml: changed, concurrency 4 -> 9, maxActiveKeys none -> 2\n1 to change, 0 unchanged.\n';
  expect(await run('drift', limits)).toEqual({ code: 2, out: text, error: '' });
  expect((await run('apply --dry-run', limits)).out).toBe(text);
  const { code, out } = await run('drift --json', limits);
  expect([code, JSON.parse(out)]).toMatchObject([
    2,
    {
      dryRun: true,
      unchanged: 0,
      failed: [],
      changes: [{ id: 'ml', before: { concurrency: 4 }, after: { concurrency: 9 } }],
    },
  ]);
  expect(commands()).toEqual([]);
});

test('drift exits with 1 for every error', async () => {
  const { code, error } = await run('drift --url http://127.0.0.1:1');
  expect([code, error]).toEqual([1, expect.stringContaining('fetch failed')]);
  expect((await run('drift --prun')).code).toBe(1);
  let out = '';
  const to = { out: () => undefined, error: (text: string) => void (out += text) };
  expect(await runOperatorCommand(['drift', '--state', directory.path], {}, to)).toBe(1);
  expect(out).toContain('the URL or the token of the operator API is missing');
});

test('a refused object does not stop the others, and the next run continues', async () => {
  world.refuseByName('billing.put-subscription', 'state_conflict');
  const path = secretsFile('partial.json');
  const first = await run(`apply --secrets-to ${path}`);
  expect([first.code, first.error]).toEqual([
    1,
    expect.stringMatching(/^subscription ml: \S.*\n3 changed, 1 unchanged, 1 failed: run the same command again/),
  ]);
  stored = ['ci'];
  world.scriptByName('billing.put-subscription', () => ({ change: 'created', subscription: SUBSCRIPTION }));
  world.asked.length = 0;
  expect((await run('apply')).code).toBe(0);
  expect(commands()).toEqual(['billing.put-subscription']);
});

test('objects of an account that could not be created fail with its name', async () => {
  world.refuseByName('accounts.create-account', 'state_conflict');
  const { code, error } = await run(`apply --secrets-to ${secretsFile('none.json')}`);
  expect(code).toBe(1);
  expect(error.match(/account ml was not created/g)).toHaveLength(3);
  expect(commands()).toEqual(['accounts.create-account']);
});

test('a credential is read from its file and sent sealed, and is not printed', async () => {
  writeFileSync(join(directory.path, 'key.json'), '{\n  "private_key": "canary"\n}\n');
  const spec = { ...OBJECTS.provider.spec, credential: { fromFile: 'key.json' } };
  const { code, out, error } = await run('apply', [{ ...OBJECTS.provider, spec }]);
  const [sent] = world.asked[0]?.body['objects'] as { sealedCredential: string }[];
  expect(openSealed(sent?.sealedCredential ?? '', 'provider:prov', SOURCE_KEYS)).toBe('{"private_key":"canary"}');
  expect([code, out + error]).toEqual([0, expect.not.stringContaining('canary')]);
});

test.each<[string, unknown, RegExp]>([
  ['an unknown kind', [{ kind: 'wallet', id: 'ml', spec: {} }], /objects\[0\]\.kind: .*'account'.*\(wallet ml\)/],
  [
    'a missing field',
    [OBJECTS.provider, { ...OBJECTS.account, spec: { name: 'ML' } }],
    /objects\[1\]\.spec\.email: is required \(account ml\)/,
  ],
  [
    'a misspelled field',
    [{ ...OBJECTS.limits, spec: { concurency: 4 } }],
    /objects\[0\]\.spec\.concurency: is not known \(limits ml\)/,
  ],
  [
    'a wallet balance',
    [{ ...OBJECTS.account, spec: { ...OBJECTS.account.spec, balanceUsd: '5.00' } }],
    /balanceUsd: is not known/,
  ],
  ['a key without its account', [{ ...OBJECTS.key, id: 'ci' }], /objects\[0\]\.id: <account>\/<key>/],
  ['an object that is listed twice', [OBJECTS.limits, OBJECTS.limits], /limits ml is listed twice/],
  [
    'a file of a credential that is missing',
    [{ ...OBJECTS.provider, spec: { credential: { fromFile: 'gone' } } }],
    /objects\[0\]\.spec\.credential\.fromFile: cannot be read \(ENOENT\)/,
  ],
  ['invalid YAML', 'objects: [', /objects\.yaml: the body is not valid YAML/],
])('%s is refused with its place, and nothing is sent', async (_name, objects, text) => {
  expect(await run('apply', objects)).toEqual({ code: 2, out: '', error: expect.stringMatching(text) });
  expect(world.asked).toEqual([]);
});

test.each<[string, unknown, RegExp]>([
  ['an object of an unknown account', [OBJECTS.limits], /^limits ml: there is no account ml: add it to the file/],
  [
    'a generated ID that does not exist',
    [{ ...OBJECTS.account, id: `acc_${'0'.repeat(32)}` }],
    /^account acc_0+: there is no account/,
  ],
  [
    'an invalid object of the catalog',
    [OBJECTS.account, OBJECTS.provider],
    /^no such model \(objects\[1\]\.spec\.modelId\)/,
  ],
])('apply changes nothing because of %s', async (_name, objects, text) => {
  world.refuseByName('accounts.get-account', 'not_found');
  world.scriptByName('catalog.apply', () => ({
    refused: { code: 'not_found', message: 'no such model', param: 'objects[0].spec.modelId' },
  }));
  const { code, error } = await run('apply', objects);
  expect([code, error]).toEqual([1, expect.stringMatching(text)]);
  expect(error).toMatch(/Nothing is changed\.\n$/);
  expect(commands()).toEqual([]);
});

test('prune is refused for a file without objects that it could keep', async () => {
  const { code, error } = await run('apply --prune', [OBJECTS.account]);
  expect([code, error]).toEqual([2, expect.stringContaining('would delete the catalog')]);
  expect(world.asked).toEqual([]);
});
