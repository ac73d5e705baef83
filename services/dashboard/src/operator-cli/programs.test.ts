import { utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSealed } from '@gateway/service-kit';
import { temporaryDirectory, type TemporaryDirectory } from '@gateway/testkit';
import {
  ACCOUNT,
  MODEL,
  PROFILE,
  PROPOSAL,
  PROVIDER,
  RECORD,
  SOURCE,
  SOURCE_TEST,
  TRANSACTION,
} from '../../test/examples.js';
import { ROOT_TOKEN, SOURCE_KEYS, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import { LITELLM, MODELS_DEV } from '../../test/price-lists.js';
import { REPORTED_REQUESTS_MIN } from '../price-lists/reported-costs.js';
import type { ProgramClock } from './program.js';
import { runOperatorCommand } from './run.js';

const AZURE = {
  ...PROFILE,
  id: 'azure-openai',
  name: 'Azure',
  base: 'https://{resource}.example.com',
  parameters: { resource: 'name of the resource' },
  keyVariable: 'AZURE_OPENAI_API_KEY',
};
const VERTEX = {
  ...PROFILE,
  id: 'vertex',
  auth: [{ type: 'google', scope: 's' }],
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
};
const VLLM = { ...PROFILE, id: 'vllm', name: 'vLLM', base: null, auth: [], keyVariable: null };
const KEY = 'sk-of-the-provider-0123456789';
/** As created by `providers add openai`. */
const OPENAI_SOURCE = {
  ...SOURCE,
  id: 'openai-gpt-6-luna',
  modelId: 'openai/gpt-6-luna',
  providerId: 'openai',
  profile: 'openai',
  baseUrl: PROFILE.base,
};
const WORKING = { ...SOURCE_TEST, works: true, calls: SOURCE_TEST.calls.slice(0, 1) };
const NO_PRICE = { ...MODEL, prices: null };

interface Applied {
  objects: { kind: string; id: string; spec: Record<string, unknown>; sealedCredential?: string }[];
  dryRun: boolean;
}

let world: OperatorWorld;
let directory: TemporaryDirectory;
beforeAll(async () => {
  directory = temporaryDirectory('operator-programs');
  world = await startOperatorWorld();
});
afterAll(async () => {
  await world.stop();
  directory.remove();
});
beforeEach(() => {
  world.reset();
  world.scriptByName('catalog.list-profiles', () => ({ profiles: [PROFILE, AZURE, VERTEX, VLLM] }));
  for (const kind of ['provider', 'model', 'source']) world.refuseByName(`catalog.get-${kind}`, 'not_found');
  stored({ sources: [] });
  // A source exists after it was applied.
  world.scriptByName('catalog.get-source', () =>
    applied().length === 0
      ? { refused: { code: 'not_found', message: 'no', param: null } }
      : { source: SOURCE, revision: 5 },
  );
  world.scriptByName('edge.test-source', () => ({ test: WORKING }));
  world.scriptByName('catalog.apply', (body) => ({
    changes: (body as Applied).objects.map(({ kind, id }) => ({
      kind,
      id,
      change: 'created',
      before: null,
      after: {},
      credentialChanged: kind === 'source',
    })),
    unchanged: 0,
    revision: 1,
    inForce: true,
  }));
});

async function run(line: string, env: Record<string, string> = {}, clock?: ProgramClock) {
  let [out, error] = ['', ''];
  const all = { GATEWAY_OPERATOR_URL: world.dashboard.operatorUrl, GATEWAY_OPERATOR_TOKEN: ROOT_TOKEN, ...env };
  const to = { out: (text: string) => void (out += text), error: (text: string) => void (error += text) };
  const code = await runOperatorCommand(line.split(' '), all, to, clock);
  return { code, out, error };
}
/** Documents that were applied, without dry runs. */
function applied(): Applied[] {
  const bodies = world.asked
    .filter(({ name }) => name === 'catalog.apply')
    .map(({ body }) => body as unknown as Applied);
  return bodies.filter(({ dryRun }) => !dryRun);
}
/** Scripts the objects in the catalog. */
function stored({ models = [MODEL], sources = [SOURCE] }: { models?: object[]; sources?: object[] }): void {
  world.scriptByName('catalog.list-models', () => ({ models, onMessages: [], nextCursor: null }));
  world.scriptByName('catalog.list-sources', () => ({ sources, nextCursor: null }));
}
/** The tested sources, in order. */
function tested(): unknown[] {
  return world.asked.filter(({ name }) => name === 'edge.test-source').map(({ body }) => body['source']);
}
function listFile(name: string, value: unknown): string {
  const file = join(directory.path, name);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
}

test('providers profiles prints a table', async () => {
  const { code, out } = await run('providers profiles');
  expect(code).toBe(0);
  const lines = out.split('\n');
  expect(lines[0]).toMatch(/^PROFILE +NAME +ADDRESS +PARAMETERS +KEY +ENDPOINTS$/);
  expect(lines[2]).toMatch(
    /^azure-openai +Azure +https:\/\/\{resource\}.example.com +resource +AZURE_OPENAI_API_KEY +chat/,
  );
  expect(lines[4]).toMatch(/^vllm +vLLM +baseUrl is needed +- +- /);
});

test('providers add runs a dry run and changes nothing without --apply', async () => {
  const { code, out, error } = await run('providers add openai --models gpt-6-luna --markup 20', {
    OPENAI_API_KEY: KEY,
  });
  expect({ code, error }).toEqual({ code: 0, error: '' });
  expect(out).toContain('provider openai (OpenAI): created');
  expect(out).toContain('model openai/gpt-6-luna (GPT-6 Luna): created');
  expect(out).toContain('price input 0.12, cached input 0.012');
  expect(out).toContain('cost input 0.10, cached input 0.01');
  expect(out).toContain('margin 16.6 %');
  expect(out).toContain('source openai-gpt-6-luna: created');
  expect(out).toContain('Dry run: nothing is changed');
  expect(out).not.toContain(KEY);
  expect(world.asked.some(({ name }) => name === 'catalog.apply')).toBe(true);
  expect(applied()).toEqual([]);
});

test('providers add --apply uses the credential of the named variable', async () => {
  const line = 'providers add openai --id mine --models openai/gpt-6-luna --key-env OTHER_KEY --markup 20 --apply';
  const { code, out } = await run(line, { OTHER_KEY: KEY });
  expect(code).toBe(0);
  expect(out).toContain('In force on every replica.');
  expect(out).toContain('/v1/chat/completions');
  const [document] = applied();
  expect(document?.objects.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
    'provider mine',
    'model openai/gpt-6-luna',
    'source mine-gpt-6-luna',
  ]);
  const [provider, model, source] = document?.objects ?? [];
  expect(provider?.spec).toEqual({ name: 'OpenAI', format: 'openai' });
  expect(openSealed(provider?.sealedCredential ?? '', 'provider:mine', SOURCE_KEYS)).toBe(KEY);
  expect(model?.spec).toMatchObject({
    displayName: 'GPT-6 Luna',
    kind: 'chat',
    contextLength: 1_050_000,
    prices: { inputPerMillion: '0.12', tiers: [{ aboveInputTokens: 272_000, inputPerMillion: '0.24' }] },
  });
  expect(source?.spec).toMatchObject({
    modelId: 'openai/gpt-6-luna',
    providerId: 'mine',
    profile: 'openai',
    upstreamModel: 'gpt-6-luna',
    endpoints: ['/v1/chat/completions', '/v1/responses'],
    costs: { inputPerMillion: '0.10' },
    enabled: false,
  });
  expect(source).not.toHaveProperty('sealedCredential');
  expect(out).toContain('(--no-test skips it):\nsource src, called by edge-0:');
  expect(out).not.toContain('max_tokens');
  expect(tested()).toEqual(['mine-gpt-6-luna']);
  const [, enabling, more] = applied();
  expect(more).toBeUndefined();
  expect(enabling?.objects.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['source mine-gpt-6-luna']);
  expect(enabling?.objects[0]?.spec).toMatchObject({ enabled: true, upstreamModel: 'gpt-6-luna' });
});

test('providers add leaves sources disabled until a test works', async () => {
  world.scriptByName('edge.test-source', () => ({ test: SOURCE_TEST }));
  const line = 'providers add openai --models gpt-6-luna --key-env OTHER_KEY --markup 20 --apply';
  const failed = await run(line, { OTHER_KEY: KEY });
  expect(failed).toMatchObject({
    code: 1,
    error: expect.stringContaining('Disabled until a test works: openai-gpt-6-luna.'),
  });
  expect(applied().flatMap(({ objects }) => objects.filter(({ kind }) => kind === 'source'))).toMatchObject([
    { spec: { enabled: false } },
  ]);

  const left = { ...OPENAI_SOURCE, enabled: false };
  world.scriptByName('catalog.get-provider', () => ({ provider: { ...PROVIDER, id: 'openai', hasCredential: true } }));
  stored({ sources: [left] });
  world.scriptByName('edge.test-source', () => ({ test: WORKING }));
  const again = await run(line, { OTHER_KEY: KEY });
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Enabled: openai-gpt-6-luna.') });
  expect(applied().at(-1)?.objects).toMatchObject([
    { kind: 'source', id: 'openai-gpt-6-luna', spec: { enabled: true } },
  ]);

  // A source that an operator disabled next to enabled ones stays disabled unless it is named.
  stored({ sources: [left, { ...OPENAI_SOURCE, id: 'openai-other' }] });
  const all = await run('providers add openai --key-env OTHER_KEY --markup 20 --apply', { OTHER_KEY: KEY });
  expect(all.out).toContain('source openai-gpt-6-luna: exists, disabled');
  expect(all.out).not.toMatch(/Enabled: .*openai-gpt-6-luna\b/);
  expect((await run(line, { OTHER_KEY: KEY })).out).toContain('Enabled: openai-gpt-6-luna.');
});

test('providers add never gives the key to a provider of that ID that leads elsewhere', async () => {
  const simulated = { ...PROVIDER, id: 'openai', name: 'OpenAI (simulated)' };
  world.scriptByName('catalog.get-provider', (body) =>
    (body as { id: string }).id === 'openai'
      ? { provider: simulated }
      : { refused: { code: 'not_found', message: 'no', param: null } },
  );
  stored({ sources: [{ ...OPENAI_SOURCE, id: 'demo', profile: null, baseUrl: 'http://127.0.0.1:9001' }] });
  const line = 'providers add openai --models gpt-6-luna --markup 20 --apply';
  const { code, out } = await run(line, { OPENAI_API_KEY: KEY });
  expect(code).toBe(0);
  expect(out).toContain('Provider openai has another address and is unchanged; this one is openai-real');
  expect(out).toContain('also served by demo');
  const [provider, , source] = applied()[0]?.objects ?? [];
  expect([provider?.id, source?.id]).toEqual(['openai-real', 'openai-real-gpt-6-luna']);
  expect(openSealed(provider?.sealedCredential ?? '', 'provider:openai-real', SOURCE_KEYS)).toBe(KEY);
  const named = await run(`${line} --id openai`, { OPENAI_API_KEY: KEY });
  expect(named).toMatchObject({
    code: 2,
    error: expect.stringContaining('leads to http://127.0.0.1:9001: choose another --id'),
  });
});

test('providers add tests the cheapest chat model, then the next if it is missing', async () => {
  const [call] = SOURCE_TEST.calls;
  const answers = [{ ...SOURCE_TEST, calls: [{ ...call, finding: 'model', text: 'not here' }] }, WORKING];
  world.scriptByName('edge.test-source', () => ({ test: answers.shift() }));
  const models = 'gpt-6-astra,gpt-6-sol,gpt-6-luna,text-embedding-3-small';
  const { code, out } = await run(`providers add openai --no-key --models ${models} --apply`);
  expect(code).toBe(0);
  expect(tested()).toEqual(['openai-gpt-6-luna', 'openai-gpt-6-sol']);
  const enabled = applied()
    .at(-1)
    ?.objects.map(({ id }) => id);
  expect(enabled).toEqual(['openai-gpt-6-astra', 'openai-gpt-6-sol', 'openai-text-embedding-3-small']);
  expect(out).toContain('"model":"openai/gpt-6-sol"');
});

test('providers add takes the names of Azure deployments, also several of one model', async () => {
  const models = 'gpt-6-sol=prod-chat,gpt-6-sol=spare,gpt-6-luna';
  const line = `providers add azure-openai --no-key --param resource=mine --models ${models} --no-test --apply`;
  const { code, out } = await run(line);
  expect(code).toBe(0);
  expect(out).toContain('source azure-openai-prod-chat (prod-chat): created');
  const objects = applied()[0]?.objects ?? [];
  expect(
    objects.map(({ kind, id, spec }) => [kind, id, spec['modelId'], spec['upstreamModel'], spec['enabled']]),
  ).toEqual([
    ['provider', 'azure-openai', undefined, undefined, undefined],
    ['model', 'openai/gpt-6-sol', undefined, undefined, undefined],
    ['model', 'openai/gpt-6-luna', undefined, undefined, undefined],
    ['source', 'azure-openai-prod-chat', 'openai/gpt-6-sol', 'prod-chat', true],
    ['source', 'azure-openai-spare', 'openai/gpt-6-sol', 'spare', true],
    ['source', 'azure-openai-gpt-6-luna', 'openai/gpt-6-luna', 'gpt-6-luna', true],
  ]);
});

test('providers add prints a complete request where it knows the running gateway', async () => {
  const state = { operatorUrl: world.dashboard.operatorUrl, operatorToken: ROOT_TOKEN };
  listFile('running.json', { ...state, edgeUrl: 'http://127.0.0.1:8080', demoApiKey: 'sk-demo' });
  let out = '';
  const line = [
    'providers',
    'add',
    'openai',
    '--no-key',
    '--models',
    'gpt-6-luna',
    '--apply',
    '--state',
    directory.path,
  ];
  expect(await runOperatorCommand(line, {}, { out: (text) => void (out += text), error: () => undefined })).toBe(0);
  expect(out).toContain("curl http://127.0.0.1:8080/v1/chat/completions -H 'authorization: Bearer sk-demo'");
});

test('providers add exits with the result of its test, which needs --apply', async () => {
  const line = 'providers add openai --models gpt-6-luna --no-key --markup 20';
  expect((await run(line)).code).toBe(0);
  expect((await run(`${line} --apply --no-test`)).code).toBe(0);
  expect(world.asked.filter(({ name }) => name === 'edge.test-source')).toEqual([]);
  world.scriptByName('edge.test-source', () => ({ test: SOURCE_TEST }));
  expect(await run(`${line} --apply`)).toMatchObject({ code: 1, out: expect.stringContaining('src does not work') });
  expect(applied()).toHaveLength(2);
});

test("providers add keeps a provider's credential unless --key-env names another", async () => {
  const there = { ...PROVIDER, id: 'openai', name: 'Ours', auth: { type: 'bearer' }, hasCredential: true };
  world.scriptByName('catalog.get-provider', () => ({ provider: there }));
  const line = 'providers add openai --models gpt-6-luna --markup 20 --apply';
  expect((await run(line)).code).toBe(0);
  const { code, out } = await run(`${line} --key-env OTHER_KEY`, { OTHER_KEY: KEY });
  expect([code, out]).toEqual([0, expect.stringContaining('its credential is replaced, for all its sources')]);
  const [first, , second] = applied();
  expect(first?.objects.map(({ kind }) => kind)).toEqual(['model', 'source']);
  expect(second?.objects.map(({ kind }) => kind)).toEqual(['provider', 'model', 'source']);
  expect(second?.objects[0]?.spec).toEqual({ name: 'Ours', format: 'openai', auth: { type: 'bearer' } });
});

test("providers add --base-url needs no parameter of the profile's address", async () => {
  const azure =
    'providers add azure-openai --no-key --markup 20 --base-url https://proxy.example.com --no-test --apply';
  expect((await run(azure)).code).toBe(0);
  const sources = applied()[0]?.objects.filter(({ kind }) => kind === 'source') ?? [];
  expect(sources.length).toBeGreaterThan(0);
  for (const { spec } of sources) expect(spec).toMatchObject({ baseUrl: 'https://proxy.example.com' });
});

test('providers add adds all listed models, also without a key', async () => {
  const { code } = await run('providers add openai --no-key --apply');
  expect(code).toBe(0);
  const objects = applied()[0]?.objects ?? [];
  expect(objects.filter(({ kind }) => kind === 'source').length).toBeGreaterThan(10);
  expect(objects.filter(({ sealedCredential }) => sealedCredential !== undefined)).toEqual([]);
});

test('providers add keeps existing objects and reports a price below cost', async () => {
  const there = { ...MODEL, id: 'openai/gpt-6-sol', prices: { inputPerMillion: '1', outputPerMillion: '20' } };
  world.scriptByName('catalog.get-provider', () => ({ provider: { ...PROVIDER, id: 'openai' } }));
  world.scriptByName('catalog.get-model', () => ({ model: there }));
  const line = 'providers add openai --models gpt-6-sol --no-key';
  const tried = await run(line);
  expect(tried.code).toBe(0);
  expect(tried.out).toContain('price input 1.00, output 20.00 (unchanged)');
  expect(tried.error).toContain(
    'BELOW COST openai/gpt-6-sol: input is sold for 1.00 and costs 2.00 at openai-gpt-6-sol',
  );
  expect((await run(`${line} --apply`)).code).toBe(1);
  expect(applied()).toEqual([]);
  expect((await run(`${line} --below-cost --apply`)).code).toBe(0);
  expect(applied()[0]?.objects.map(({ kind }) => kind)).toEqual(['source']);
});

const OPENROUTER = {
  ...PROFILE,
  id: 'openrouter',
  name: 'OpenRouter',
  base: 'https://openrouter.example',
  keyVariable: 'OPENROUTER_API_KEY',
};
const BEDROCK = {
  ...PROFILE,
  id: 'bedrock',
  name: 'Bedrock',
  base: 'https://{region}.example',
  parameters: { region: 'r' },
};
const sourcesAdded = () =>
  (applied()[0]?.objects ?? [])
    .filter(({ kind }) => kind === 'source')
    .map(({ id, spec }) => [id, spec['modelId'], spec['upstreamModel']]);

test.each([
  [
    'openrouter --from models.dev --models acme/*,claude-opus-5-5',
    MODELS_DEV,
    [
      ['openrouter-acme-small-1', 'acme/small-1', 'acme/small-1'],
      ['openrouter-acme-free-free', 'acme/free:free', 'acme/free:free'],
      ['openrouter-anthropic-claude-opus-5.5', 'anthropic/claude-opus-5-5', 'anthropic/claude-opus-5.5'],
    ],
  ],
  [
    'bedrock --param region=us-west-2 --from litellm --models all',
    LITELLM,
    [['bedrock-moonshotai.kimi-k2.5', 'moonshotai/kimi-k2.5', 'moonshotai.kimi-k2.5']],
  ],
  [
    'vertex --from litellm --models gemini-3.5-flash',
    LITELLM,
    [['vertex-gemini-3.5-flash', 'google/gemini-3.5-flash', 'google/gemini-3.5-flash']],
  ],
  [
    'azure-openai --param resource=mine --from models.dev --models gpt-6-sol=prod',
    MODELS_DEV,
    [['azure-openai-prod', 'openai/gpt-6-sol', 'prod']],
  ],
  ['openrouter --models acme/new --cost acme/new=1.5/6/0.15', null, [['openrouter-acme-new', 'acme/new', 'acme/new']]],
])('providers add %s adds models of the list', async (given, list, expected) => {
  world.scriptByName('catalog.list-profiles', () => ({ profiles: [OPENROUTER, BEDROCK, VERTEX, AZURE] }));
  const file = list === null ? '' : ` --file ${listFile('list.json', list)}`;
  const { code, error } = await run(`providers add ${given}${file} --no-key --markup 25 --apply --below-cost`);
  expect([code, error]).toEqual([0, '']);
  expect(sourcesAdded()).toEqual(expected);
});

test("providers add reads the provider's own models and marks their prices up", async () => {
  const asked: unknown[] = [];
  const models = {
    data: [{ id: 'acme/small-1', pricing: { prompt: '0.0000002', completion: '0.0000008' } }, { id: 'acme/unknown' }],
  };
  const server = createServer((request, response) => {
    asked.push([request.url, request.headers.authorization]);
    response.end(JSON.stringify(models));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  world.scriptByName('catalog.list-profiles', () => ({ profiles: [OPENROUTER] }));
  try {
    const line = `providers add openrouter --from provider --base-url ${url} --markup 25 --apply`;
    const added = await run(`${line} --models acme/small-1`, { OPENROUTER_API_KEY: KEY });
    expect(added).toMatchObject({ code: 0, error: '' });
    expect(added.out).toContain(`Models of ${url}/v1/models, as of now`);
    expect(asked).toEqual([['/v1/models', `Bearer ${KEY}`]]);
    const [, model, source] = applied()[0]?.objects ?? [];
    expect([model?.spec, source?.spec]).toMatchObject([
      { prices: { inputPerMillion: '0.25', outputPerMillion: '1.00' } },
      { costs: { inputPerMillion: '0.20', outputPerMillion: '0.80' }, baseUrl: url },
    ]);
    const unpriced = await run(`${line} --models acme/unknown`, { OPENROUTER_API_KEY: KEY });
    expect(unpriced).toMatchObject({ code: 2, error: expect.stringContaining('--cost acme/unknown=<input>/<output>') });
    expect(await run(line, { OPENROUTER_API_KEY: KEY })).toMatchObject({
      code: 2,
      error: expect.stringContaining('name the models'),
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('providers add prints the age of a list, and computes prices that it lacks', async () => {
  const line = 'providers add openai --no-key --from litellm --models gpt-audio';
  const gptAudio = {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 2e-6,
    cache_read_input_token_cost: 2e-7,
    output_cost_per_token: 8e-6,
    input_cost_per_token_priority: 4e-6,
    output_cost_per_token_priority: 1.6e-5,
    cache_read_input_audio_token_cost: 3e-7,
  };
  const file = listFile('old.json', { 'gpt-audio': gptAudio });
  utimesSync(file, new Date('2026-07-24T10:00:00Z'), new Date('2026-07-24T10:00:00Z'));
  const { out } = await run(`${line} --file ${file}`);
  expect(out).toMatch(
    /^List litellm of 2026-07-24, \d+ days old, by the date of its file\. Its prices may be out of date\./,
  );
  expect(out).toContain('not in the list and computed: priority cached input 0.40');
  expect(out).toContain('  not read: cache_read_input_audio_token_cost\n');
});

test("Google's key is read from the file that the variable names", async () => {
  const file = listFile('google.json', '{\n "type": "service_account"\n}');
  const line = 'providers add vertex --models gemini-3.8-flash --apply';
  expect((await run(line, { GOOGLE_APPLICATION_CREDENTIALS: file })).code).toBe(0);
  const provider = applied()[0]?.objects[0];
  expect(openSealed(provider?.sealedCredential ?? '', 'provider:vertex', SOURCE_KEYS)).toBe(
    '{"type":"service_account"}',
  );
});

test.each([
  ['providers add', /name one profile: openai, azure-openai/],
  ['providers add nonsense', /name one profile/],
  ['providers add openai', /^OPENAI_API_KEY is not set here/],
  ['providers add openai --key-env MISSING', /^MISSING is not set here/],
  ['providers add openai --key-env sk-secret', /never the key itself/],
  ['providers add openai --key-env A --no-key', /not both/],
  ['providers add openai --no-key --models gpt-0', /no model gpt-0; of OpenAI it has gpt-6-astra/],
  ['providers add openai --no-key --markup -5', /percent from 0/],
  ['providers add openai --no-key --param region=x', /no parameter region/],
  ['providers add openai --no-key --from nonsense --models a', /--from is one of bundled/],
  ['providers add openai --no-key --models a=', /name=deployment/],
  ['providers add openai --no-key --models new --cost new=1', /input\/output/],
  ['providers add openai --no-key --models gpt-6-luna --cost other=1/2', /name the model in --models too/],
  ['providers add openai --no-key --id a/b', /not a valid provider ID/],
  ['providers add openai --no-key --nonsense 1', /no option --nonsense/],
  ['providers add --apply openai', /--apply takes no value/],
  ['providers add azure-openai --no-key', /--param resource=… {3}name of the resource/],
  ['providers add vllm', /no default address/],
  ['providers add vllm --base-url http://127.0.0.1:1', /no models of vLLM: use --from models.dev, litellm or provider/],
  ['providers add vertex --key-env OPENAI_KEY_OF_NOBODY', /is not set here/],
  ['sources test', /name one source/],
  ['sources test a b', /name one source/],
  ['prices compare', /--from is one of bundled, models.dev, litellm/],
  ['prices compare --from bundled --apply', /no option --apply/],
  ['prices compare --from litellm --list-url http://example.com/x', /use https/],
  ['prices compare --from litellm --list-url ftp://example.com/x', /use https/],
  ['prices compare --from litellm --list-url https://10.0.0.1/x', /is a private address/],
  ['prices watch', /use --once, or --at HH:MM/],
  ['prices watch --once --at 06:00', /use --once, or --at HH:MM/],
  ['prices watch --at 24:00', /--at 24:00: a UTC time/],
  ['prices watch --once --from litellm --list-url bundled=https://example.com/x', /of one of litellm/],
  ['prices watch --once --file x.json', /name its format with one --from/],
  ['prices proposal x', /not understood: x/],
])('%s is refused with a reason and applies nothing', async (line, reason) => {
  const { code, out, error } = await run(line);
  expect({ code, out, error }).toEqual({ code: 2, out: '', error: expect.stringMatching(reason) });
  expect(world.asked.filter(({ name }) => name === 'catalog.apply')).toEqual([]);
});

test('providers add prints a refusal of the operator API unchanged', async () => {
  world.scriptByName('catalog.apply', () => ({ refused: { code: 'in_use', message: 'no', param: null } }));
  const { code, error } = await run('providers add openai --no-key --apply');
  expect([code, JSON.parse(error)]).toEqual([1, { error: expect.objectContaining({ code: 'in_use' }) }]);
});

const OURS = {
  ...SOURCE,
  profile: 'openai',
  upstreamModel: 'gpt-5.4-mini',
  costs: { inputPerMillion: '0.50', outputPerMillion: '4.50' },
};
const PRICED = {
  ...MODEL,
  prices: { inputPerMillion: '0.90', cachedInputPerMillion: '0.50', outputPerMillion: '5.40' },
};

test.each([
  ['bundled', null],
  ['litellm', LITELLM],
  ['models.dev', { openai: { models: { 'gpt-5.4-mini': { cost: { input: 0.75, output: 4.5, cache_read: 0.075 } } } } }],
])('a comparison with %s prints differences and the margin and changes nothing', async (from, list) => {
  stored({ models: [PRICED], sources: [OURS, { ...OURS, id: 'other', modelId: 'pub/other', upstreamModel: 'o' }] });
  const file = list === null ? '' : ` --file ${listFile('list.json', list)}`;
  for (const verb of ['compare', 'import']) {
    const { code, out, error } = await run(`prices ${verb} --from ${from}${file}`);
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(out).toContain('source src: cost input 0.50 -> 0.75, cached input none -> 0.075');
    if (from === 'litellm') expect(out).toContain('\n  not read: input_cost_per_token_batches\n');
    expect(out).toContain('source other: not in the list, unchanged');
    expect(out).toContain('model pub/model: price input 0.90, cached input 0.50, output 5.40 (unchanged)');
    expect(out).toContain('margin 16.6 %');
    expect(out).toContain('Nothing is changed; to change: costs of 1 sources, prices of 0 models');
  }
  expect(world.asked.filter(({ name }) => name === 'catalog.apply')).toEqual([]);
});

test.each([
  ['litellm', LITELLM],
  ['models.dev', { openai: { models: { 'gpt-5.4-mini': { cost: { input: 0.75, output: 4.5, cache_read: 0.075 } } } } }],
])('an import of %s sets costs, and prices only with a markup', async (from, list) => {
  stored({ models: [PRICED], sources: [OURS] });
  const line = `prices import --from ${from} --file ${listFile('list.json', list)}`;
  expect((await run(`${line} --apply`)).code).toBe(0);
  expect((await run(`${line} --markup 100 --apply`)).code).toBe(0);
  const [first, second] = applied();
  expect(first?.objects.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['source src']);
  const {
    id: _id,
    hasCredential: _has,
    credentialOf: _whose,
    costVersion: _version,
    upcomingCosts: _upcoming,
    ...spec
  } = OURS;
  const costs = { inputPerMillion: '0.75', cachedInputPerMillion: '0.075', outputPerMillion: '4.50' };
  expect(first?.objects[0]?.spec).toMatchObject({ ...spec, costs });
  expect(first?.objects[0]).not.toHaveProperty('sealedCredential');
  expect(second?.objects.map(({ kind, id }) => `${kind} ${id}`)).toEqual(['source src', 'model pub/model']);
  expect(second?.objects[1]?.spec).toMatchObject({
    displayName: MODEL.displayName,
    prices: { inputPerMillion: '1.50', cachedInputPerMillion: '0.15', outputPerMillion: '9.00' },
  });
});

test('a price below cost is reported and stops an import without --below-cost', async () => {
  stored({ models: [{ ...PRICED, prices: { inputPerMillion: '0.70', outputPerMillion: '5' } }], sources: [OURS] });
  const line = `prices import --from litellm --file ${listFile('list.json', LITELLM)}`;
  const named = 'BELOW COST pub/model: input is sold for 0.70 and costs 0.75 at src';
  const tried = await run(line);
  expect([tried.code, tried.error.includes(named)]).toEqual([0, true]);
  expect(tried.out).toContain('margin -7.1 %');
  const refused = await run(`${line} --apply`);
  expect([refused.code, refused.error.includes(named)]).toEqual([1, true]);
  expect(applied()).toEqual([]);
  expect((await run(`${line} --below-cost --apply`)).code).toBe(0);
  expect(applied()).toHaveLength(1);
});

test("prices import --provider changes only that provider's sources", async () => {
  stored({ models: [NO_PRICE], sources: [OURS, { ...OURS, id: 'second', providerId: 'elsewhere' }] });
  const file = listFile('list.json', LITELLM);
  const { out } = await run(`prices import --from litellm --file ${file} --provider elsewhere --apply`);
  expect(applied()[0]?.objects.map(({ id }) => id)).toEqual(['second']);
  expect(out).toContain('it has no price, so it is not sold');
});

test('a list from a URL is read; a wrong format or a redirect is refused', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/moved') return void response.writeHead(302, { location: 'http://127.0.0.1/there' }).end();
    if (request.url === '/text') return void response.end('text');
    if (request.url === '/none') return void response.writeHead(404).end();
    response.end(JSON.stringify(request.url === '/litellm' ? LITELLM : MODELS_DEV));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stored({ sources: [OURS] });
  try {
    const compare = (path: string) => run(`prices compare --from litellm --list-url ${url}${path}`);
    expect((await compare('/litellm')).out).toContain('source src: cost input 0.50 -> 0.75');
    for (const [path, reason] of [
      ['/models', 'not a LiteLLM list'],
      ['/text', 'not valid JSON'],
      ['/moved', 'redirects to http://127.0.0.1/there'],
      ['/none', 'returned status 404'],
    ] as const) {
      expect(await compare(path)).toMatchObject({ code: 2, error: expect.stringContaining(reason) });
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('lists are read to their last page', async () => {
  const pages = [
    { sources: [OURS], nextCursor: 'more' },
    { sources: [{ ...OURS, id: 'last' }], nextCursor: null },
  ];
  stored({});
  world.scriptByName('catalog.list-sources', () => pages.shift());
  const { out } = await run('prices compare --from bundled');
  expect(out).toContain('source last: cost');
});

test('ledger show prints accounts with requests, or a record with its transactions', async () => {
  world.scriptByName('accounts.list-accounts', () => ({ accounts: [ACCOUNT], total: 1, nextCursor: null }));
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
  world.scriptByName('billing.wallet', () => ({ balanceUsd: '3.00' }));
  world.scriptByName('admission.held', () => ({ walletNanoUsd: 0, slots: 0 }));
  world.scriptByName('billing.usage-records', () => ({ records: [RECORD], nextCursor: null }));
  const { out } = await run('ledger show');
  expect(out).toMatch(
    new RegExp(`^account ${ACCOUNT.id} ".+": wallet \\$3.00\n  \\S+  ${RECORD.requestId}  .* in, .* out  .*\\$`),
  );
  world.scriptByName('billing.usage-record', () => ({ record: RECORD, transactions: [TRANSACTION] }));
  const shown = await run(`ledger show ${RECORD.requestId}`);
  const [json = '', transaction] = shown.out.split('\nledger transaction ');
  expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(RECORD)));
  expect(transaction).toMatch(
    new RegExp(`^${TRANSACTION.id} \\(${TRANSACTION.kind}, .*\\)\n +${TRANSACTION.entries[0]?.amountUsd}  \\S+\n`),
  );
  expect(await run('ledger show a b')).toMatchObject({ code: 2, error: expect.stringContaining('name one request') });
});

test('sources test prints a table and explains each fault', async () => {
  world.scriptByName('catalog.get-source', () => ({ source: SOURCE, revision: 5 }));
  world.scriptByName('edge.test-source', () => ({ test: SOURCE_TEST }));
  const { code, out } = await run('sources test src');
  expect(code).toBe(1);
  expect(out.split('\n')).toEqual([
    'source src, called by edge-0:',
    expect.stringMatching(/^ENDPOINT +FINDING +STATUS +FIRST BYTE +WHOLE +TOKENS IN +OUT +COST USD +PRICE USD$/),
    expect.stringMatching(/^\/v1\/chat\/completions +works +200 +210 ms +240 ms +9 +4 +0.00001 +0.00002$/),
    expect.stringMatching(/^\/v1\/chat\/completions \(streamed\) +quota +429 +- +90 ms +- +- +- +-$/),
    '/v1/chat/completions: The provider limits the rate.',
    '  the provider said: Slow down.',
    'source src does not work.',
    '',
  ]);
  const [works] = SOURCE_TEST.calls;
  world.scriptByName('edge.test-source', () => ({ test: { ...SOURCE_TEST, works: true, calls: [works] } }));
  const good = await run('sources test src');
  expect(good).toMatchObject({ code: 0, out: expect.stringMatching(/source src works\.\n$/) });
  expect(good.out).not.toContain('It works.');
  world.scriptByName('edge.test-source', () => ({
    test: { ...SOURCE_TEST, calls: [], problem: 'its credential does not open: give it again' },
  }));
  expect((await run('sources test src')).out).toBe(
    'source src cannot be used by edge-0: its credential does not open: give it again\n',
  );
});

test('sources test is refused for an unknown source and above the rate limit', async () => {
  expect(await run('sources test src')).toMatchObject({ code: 1, error: expect.stringContaining('not_found') });
  expect(world.asked.filter(({ name }) => name === 'edge.test-source')).toEqual([]);
  world.scriptByName('catalog.get-source', () => ({ source: SOURCE, revision: 5 }));
  world.refuseByName('edge.test-source', 'too_many_attempts');
  expect(await run('sources test src')).toMatchObject({ code: 1, error: expect.stringContaining('too_many_attempts') });
  const answer = await world.send('POST', '/sources/src/test');
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2']);
});

/** Proposals sent to the catalog. */
const proposed = () =>
  world.asked.filter(({ name }) => name === 'catalog.propose-prices').map(({ body }) => body['proposal']);
const answerProposals = (outcome: string) =>
  world.scriptByName('catalog.propose-prices', (body) => {
    const { scheduledFor = null, ...proposal } = (body as { proposal: Partial<typeof PROPOSAL> }).proposal;
    return { proposal: { ...PROPOSAL, ...proposal, scheduledFor, outcome } };
  });

test('prices watch proposes other costs and names them, and applies nothing', async () => {
  stored({ models: [PRICED], sources: [OURS] });
  answerProposals('raised');
  const { code, out, error } = await run(`prices watch --once --from litellm --file ${listFile('l.json', LITELLM)}`);
  expect([code, out.includes('ALERT: other differences')]).toEqual([0, true]);
  expect(out).toContain('source src (pub/model): input 0.50 -> 0.75, cached input none -> 0.075');
  expect(error).toBe('');
  expect(proposed()).toMatchObject([
    {
      changes: [{ kind: 'source', objectId: 'src', modelId: 'pub/model', after: { inputPerMillion: '0.75' } }],
      reported: [],
    },
  ]);
  expect(proposed()[0]).not.toHaveProperty('scheduledFor');
  expect(applied()).toEqual([]);
});

test('prices watch proposes prices with a markup, and names those that stay below cost', async () => {
  stored({ models: [{ ...PRICED, prices: { inputPerMillion: '0.70', outputPerMillion: '5' } }], sources: [OURS] });
  answerProposals('raised');
  const line = `prices watch --once --from litellm --file ${listFile('l.json', LITELLM)}`;
  expect((await run(line)).error).toContain('BELOW COST pub/model: input is sold for 0.70 and costs 0.75 at src');
  expect((await run(`${line} --markup 100`)).error).toBe('');
  expect(proposed()[1]).toMatchObject({
    changes: [{ kind: 'source' }, { kind: 'model', objectId: 'pub/model', after: { inputPerMillion: '1.50' } }],
  });
});

const AT_SIX = Date.parse('2026-11-20T06:00:00Z');
const DAY_MS = 86_400_000;
/** A clock that each wait advances, and that ends the program at a given time. */
const clockUntil = (startMs: number, endMs: number): ProgramClock => {
  let now = startMs;
  return {
    nowMs: () => now,
    sleep: (ms) => {
      now += ms;
      return now < endMs ? Promise.resolve() : Promise.reject(new Error('the test ends'));
    },
  };
};

test('providers add schedules announced costs and warns of models that end', async () => {
  const gemini = { ...PROFILE, id: 'gemini', endpoints: { '/v1/chat/completions': '/chat/completions' } };
  world.scriptByName('catalog.list-profiles', () => ({ profiles: [gemini] }));
  const add = (models: string, day: string) => {
    const at = Date.parse(`${day}T12:00:00Z`);
    return run(
      `providers add gemini --no-key --models ${models} --markup 20 --no-test --apply`,
      {},
      clockUntil(at, at),
    );
  };
  const { code, out } = await add('gemini-3.8-flash,gemini-2.5-pro', '2026-11-20');
  expect(code).toBe(0);
  expect(out).toContain('from 2027-01-01: cost input 1.50');
  expect(out).toContain('WARNING: the provider ends this model on 2026-12-01');
  const effectiveFrom = '2027-01-01T00:00:00.000Z';
  const [, later] = applied();
  expect(later?.objects).toMatchObject([
    { kind: 'model', id: 'google/gemini-3.8-flash', spec: { prices: { inputPerMillion: '1.80', effectiveFrom } } },
    { kind: 'source', id: 'gemini-gemini-3.8-flash', spec: { costs: { inputPerMillion: '1.50', effectiveFrom } } },
  ]);
  expect((await add('gemini-3.8-flash', '2027-01-01')).out).not.toContain('scheduled');
  expect(applied()).toHaveLength(3);
  expect(applied()[2]?.objects).toMatchObject([
    { kind: 'provider' },
    { kind: 'model', spec: { prices: { inputPerMillion: '1.80' } } },
    { kind: 'source', spec: { costs: { inputPerMillion: '1.50' } } },
  ]);
  expect((await add('gemini-2.5-pro', '2026-12-01')).error).toContain('has no model gemini-2.5-pro');
});

test('prices watch --at compares once a day at its time, also after a restart', async () => {
  stored({ models: [PRICED], sources: [OURS] });
  let served: string | null = null;
  world.scriptByName('catalog.get-price-proposal', () =>
    served === null
      ? { refused: { code: 'not_found', message: 'none', param: null } }
      : { proposal: { ...PROPOSAL, scheduledFor: served } },
  );
  world.scriptByName('catalog.propose-prices', (body) => {
    served = (body as { proposal: { scheduledFor: string } }).proposal.scheduledFor;
    return { proposal: { ...PROPOSAL, scheduledFor: served, outcome: 'unchanged' } };
  });
  const line = `prices watch --at 06:00 --from litellm --file ${listFile('l.json', LITELLM)}`;
  const times = () => proposed().map((one) => (one as { scheduledFor: string }).scheduledFor);
  // The time of the day has passed: the check runs late, once.
  await run(line, {}, clockUntil(AT_SIX + 3_600_000, AT_SIX + DAY_MS / 2));
  await run(line, {}, clockUntil(AT_SIX + 2 * 3_600_000, AT_SIX + DAY_MS / 2));
  expect(times()).toEqual(['2026-11-20T06:00:00.000Z']);
  await run(line, {}, clockUntil(AT_SIX + DAY_MS - 1, AT_SIX + 3 * DAY_MS));
  expect(times().slice(1)).toEqual(['2026-11-21T06:00:00.000Z', '2026-11-22T06:00:00.000Z']);
});

test('prices watch --at tries a failed check again after 15 minutes', async () => {
  stored({ models: [PRICED], sources: [OURS] });
  world.refuseByName('catalog.get-price-proposal', 'not_found');
  const line = 'prices watch --at 06:00 --from litellm --file';
  const { error } = await run(`${line} ${listFile('broken.json', 'text')}`, {}, clockUntil(AT_SIX, AT_SIX + 2_000_000));
  expect(
    error.match(/The check failed: the list is not valid JSON\. Next attempt at 2026-11-20T06:(15|30|45)/g),
  ).toHaveLength(3);
  expect(proposed()).toEqual([]);
});

test('prices watch compares reported costs with the costs in force', async () => {
  const pricing = {
    classes: [],
    tools: [],
    freeTools: [],
    unpricedFields: {},
    reportedCostAt: { path: 'c', unit: 'usd' },
  };
  world.scriptByName('catalog.list-profiles', () => ({ profiles: [{ ...PROFILE, pricing }] }));
  stored({ models: [PRICED], sources: [{ ...OURS, costs: { inputPerMillion: '1', outputPerMillion: '2' } }] });
  answerProposals('raised');
  // 1,000 input and 1,000 output tokens cost 0.003.
  const tokens = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1_000 };
  const record = (reportedCostUsd: string | undefined) => ({
    ...RECORD,
    sourceId: 'src',
    tokens,
    class: 'standard',
    units: {},
    kinds: null,
    attempts: [{ sourceId: 'src', outcome: 'completed', status: 200, possiblyPaid: true, reportedCostUsd }],
  });
  const records = (count: number, reported: string) =>
    world.scriptByName('billing.usage-records', () => ({
      // Records without a reported cost, or with one out of bounds, are ignored.
      records: [...Array.from({ length: count }, () => record(reported)), record(undefined), record('5')],
      nextCursor: null,
    }));
  const watched = async () => {
    await run(`prices watch --once --from litellm --file ${listFile('l.json', LITELLM)}`);
    return (proposed().at(-1) as { reported: object[] }).reported;
  };
  records(REPORTED_REQUESTS_MIN, '0.0045');
  expect(await watched()).toEqual([
    { sourceId: 'src', modelId: 'pub/model', requests: 20, computedUsd: '0.06', reportedUsd: '0.09' },
  ]);
  expect(world.asked.find(({ name }) => name === 'billing.usage-records')?.body).toMatchObject({ reportsCost: true });
  records(REPORTED_REQUESTS_MIN - 1, '0.0045');
  expect(await watched()).toEqual([]);
  records(REPORTED_REQUESTS_MIN, '0.003059');
  expect(await watched()).toEqual([]);
  records(REPORTED_REQUESTS_MIN, '0.00294');
  expect(await watched()).toHaveLength(1);
});

test('prices proposal shows old and new figures and writes a document for apply', async () => {
  // The source was disabled after the comparison.
  const now = { ...OURS, enabled: false };
  stored({ models: [PRICED], sources: [now] });
  const gone = { ...PROPOSAL.changes[0], objectId: 'gone' };
  world.scriptByName('catalog.get-price-proposal', () => ({
    proposal: { ...PROPOSAL, changes: [...PROPOSAL.changes, gone] },
  }));
  const shown = await run('prices proposal');
  expect(shown.out).toContain('source src (pub/model): input 0.50 -> 0.75');
  expect(shown.out).toContain('the provider charged 1.50 for 40 requests that cost 1.00');
  expect(shown.error).toBe('source gone no longer exists: left out\n');
  const { out } = await run('prices proposal --document');
  expect(JSON.parse(out)).toMatchObject({ objects: [{ kind: 'source', id: 'src', spec: { enabled: false } }] });
  expect(applied()).toEqual([]);
  const file = listFile('proposal.json', out);
  expect((await run(`apply -f ${file}`)).code).toBe(0);
  expect(applied()[0]?.objects[0]?.spec).toMatchObject({
    enabled: false,
    costs: { inputPerMillion: '0.75', outputPerMillion: '4.50' },
  });
});
