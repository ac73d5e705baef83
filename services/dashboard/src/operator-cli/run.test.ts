import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { temporaryDirectory, type TemporaryDirectory } from '@gateway/testkit';
import { ACCOUNT, EXAMPLES, KEY, MODEL, REQUEST_ID } from '../../test/examples.js';
import { ROOT_TOKEN, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import { runOperatorCommand } from './run.js';

let world: OperatorWorld;
let directory: TemporaryDirectory;
beforeAll(async () => {
  directory = temporaryDirectory('operator-cli');
  world = await startOperatorWorld();
});
afterAll(async () => {
  await world.stop();
  directory.remove();
});
beforeEach(() => {
  world.reset();
  for (const example of Object.values(EXAMPLES)) {
    for (const [name, answer] of Object.entries(example.answers)) world.scriptByName(name, () => answer);
  }
});

async function run(...line: string[]): Promise<{ code: number; out: string; error: string }> {
  let [out, error] = ['', ''];
  const env = { GATEWAY_OPERATOR_URL: world.dashboard.operatorUrl, GATEWAY_OPERATOR_TOKEN: ROOT_TOKEN };
  const code = await runOperatorCommand(line, env, {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
  });
  return { code, out, error };
}

test.each([
  ['GET /accounts', 'accounts.list-accounts'],
  ['accounts', 'accounts.list-accounts'],
  ['accounts list', 'accounts.list-accounts'],
  ['accounts get acc_1', 'accounts.get-account'],
  ['accounts suspend acc_1', 'accounts.set-account-state'],
  ['accounts keys list acc_1', 'accounts.list-keys'],
  ['keys list acc_1', 'accounts.list-keys'],
  ['keys get key_1', 'accounts.get-key'],
  ['keys rotate key_1', 'accounts.rotate-key'],
  ['keys create acc_1 --name first', 'accounts.create-key'],
  ['members delete acc_1 mem_1', 'accounts.delete-member'],
  ['models get pub/model', 'catalog.get-model'],
  ['aliases', 'catalog.list-aliases'],
  ['aliases list', 'catalog.list-aliases'],
  ['aliases get anthropic/model@latest', 'catalog.get-alias'],
  ['sources health', 'catalog.source-health'],
  ['sources get src', 'catalog.get-source'],
  ['wallet acc_1', 'admission.held'],
  [`slots delete ${REQUEST_ID}`, 'admission.release-slot'],
  ['operators list', 'accounts.list-operators'],
])('%s sends %s', async (line, message) => {
  const { code, error } = await run(...line.split(' '));
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(world.asked.map(({ name }) => name)).toContain(message);
});

test('fields become a body with the types of the document; money stays text', async () => {
  const made = await run(
    ...'models put pub/model --displayName 4 --kind chat --maxOutputTokens 4'.split(' '),
    '--prices.inputPerMillion',
    '5',
    '--prices.outputPerMillion=6',
  );
  expect(made.code).toBe(0);
  expect(world.asked.at(-1)?.body).toMatchObject({
    id: 'pub/model',
    spec: { displayName: '4', maxOutputTokens: 4, prices: { inputPerMillion: '5', outputPerMillion: '6' } },
  });
  expect(JSON.parse(made.out)).toMatchObject({ id: MODEL.id });
  await run('wallet', 'entries', 'acc_1', '--amountUsd', '-5', '--kind', 'credit', '--reason', 'r', '--reference', '7');
  expect(world.asked.at(-1)?.body).toMatchObject({ spec: { amountUsd: '-5', reference: '7' } });
});

test('aliases can be put and deleted under names with slashes and colons', async () => {
  for (const alias of ['gpt-6.1-terra', 'anthropic/model@latest', 'team:a/b/c']) {
    const made = await run('aliases', 'put', alias, '--modelId', 'pub/model');
    expect([made.code, made.error]).toEqual([0, '']);
    expect(world.asked.at(-1)?.body).toMatchObject({ id: alias, spec: { modelId: 'pub/model' } });
    expect((await run('aliases', 'delete', alias)).code).toBe(0);
    expect(world.asked.at(-1)).toMatchObject({ name: 'catalog.delete', body: { kind: 'alias', id: alias } });
  }
  world.refuseByName('catalog.put-alias', 'state_conflict');
  const refused = await run('aliases', 'put', 'pub/model', '--modelId', 'pub/model');
  expect([refused.code, JSON.parse(refused.error)]).toMatchObject([1, { error: { code: 'state_conflict' } }]);
  expect((await run('aliases', 'put', 'no name', '--modelId', 'pub/model')).code).toBe(1);
});

test('fields of a list become its query', async () => {
  await run('usage-records', 'list', '--accountId', 'acc_1', '--limit', '3');
  expect(world.asked.at(-1)?.body).toMatchObject({ account: 'acc_1', limit: 3 });
});

test('a request sends a YAML file unchanged', async () => {
  const file = join(directory.path, 'objects.yaml');
  writeFileSync(file, 'objects:\n  - {kind: provider, id: prov, spec: {name: Provider, format: openai}}\n');
  const { code, out } = await run('POST', '/apply?dryRun=true', '-f', file);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ dryRun: true });
  expect(world.asked.map(({ body }) => body['dryRun'])).toEqual([true]);
});

test('the URL and the token are read from running.json', async () => {
  const running = { operatorUrl: `${world.dashboard.operatorUrl}/operator/v1`, operatorToken: ROOT_TOKEN };
  writeFileSync(join(directory.path, 'running.json'), JSON.stringify(running));
  let out = '';
  const to = { out: (text: string) => void (out += text), error: () => undefined };
  expect(await runOperatorCommand(['accounts', 'get', 'acc_1', '--state', directory.path], {}, to)).toBe(0);
  expect(JSON.parse(out)).toEqual(ACCOUNT);
});

test('a refusal exits with 1 and the error, an unknown command with 2 and the usage', async () => {
  world.refuseByName('accounts.get-key', 'not_found');
  const refused = await run('keys', 'get', KEY.id);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(JSON.parse(refused.error)).toMatchObject({ error: { code: 'not_found' } });
  for (const line of [[], ['nonsense'], ['keys', 'explode', 'x', 'y'], ['apply', '-f']]) {
    expect(await run(...line)).toMatchObject({ code: 2, out: '', error: expect.stringContaining('operator <METHOD>') });
  }
});
