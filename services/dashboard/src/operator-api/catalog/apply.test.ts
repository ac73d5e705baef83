import { secretFrom } from '@gateway/contracts/ids';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSealed } from '@gateway/service-kit';
import { errorOf, SOURCE_KEYS, startOperatorWorld, type OperatorWorld } from '../../../test/operator-world.js';
import { PLAN_PUT, SOURCE_PUT } from '../../../test/examples.js';

const PROVIDER_OBJECT = { kind: 'provider', id: 'prov', spec: { name: 'Provider', format: 'openai' } };
const PLAN_OBJECT = { kind: 'plan', id: 'pro', spec: PLAN_PUT };
const SOURCE_OBJECT = { kind: 'source', id: 'src', spec: { ...SOURCE_PUT, credential: 'sk-1' } };
const change = (kind: string, id: string) => ({
  kind,
  id,
  change: 'created',
  before: null,
  after: {},
  credentialChanged: false,
});

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.scriptByName('catalog.apply', () => ({
    changes: [change('provider', 'prov')],
    unchanged: 2,
    revision: 3,
    inForce: true,
  }));
  world.scriptByName('billing.apply-plans', () => ({ changes: [change('plan', 'pro')], unchanged: 1 }));
});
const apply = (body: unknown, query = '', headers: Record<string, string> = {}) =>
  world.send('POST', `/apply${query}`, { body, headers });
const yaml = { 'content-type': 'application/yaml' };
/** The messages sent so far, each as a dry run or not. */
const calls = () => world.asked.map(({ name, body }) => `${name} ${body['dryRun'] ? 'dry' : 'real'}`);

test('apply tests both services in a dry run, then changes the catalog, then billing', async () => {
  const answer = await apply({ objects: [PLAN_OBJECT, PROVIDER_OBJECT, SOURCE_OBJECT] });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    dryRun: false,
    changes: [change('provider', 'prov'), change('plan', 'pro')],
    unchanged: 3,
    inForce: true,
  });
  expect(calls().slice(0, 2).sort()).toEqual(['billing.apply-plans dry', 'catalog.apply dry']);
  expect(calls().slice(2)).toEqual(['catalog.apply real', 'billing.apply-plans real']);
  const [catalogs, plans] = ['catalog.apply', 'billing.apply-plans'].map(
    (name) => world.asked.find((one) => one.name === name)?.body,
  );
  expect(catalogs).toMatchObject({
    prune: false,
    author: { actor: 'operator:root' },
    objects: [PROVIDER_OBJECT, { kind: 'source', id: 'src' }],
  });
  expect(plans).toMatchObject({
    prune: false,
    author: { actor: 'operator:root' },
    plans: [{ id: 'pro', spec: PLAN_PUT }],
  });
});

test('a dry run applies nothing', async () => {
  expect((await apply({ objects: [PLAN_OBJECT, PROVIDER_OBJECT] }, '?dryRun=true')).body).toMatchObject({
    dryRun: true,
    unchanged: 3,
    inForce: false,
  });
  expect(calls().sort()).toEqual(['billing.apply-plans dry', 'catalog.apply dry']);
});

test('a service without objects is not queried unless prune is set', async () => {
  await apply({ objects: [PROVIDER_OBJECT] });
  expect(calls()).toEqual(['catalog.apply dry', 'catalog.apply real']);
  world.asked.length = 0;
  expect((await apply({ objects: [] })).body).toEqual({ dryRun: false, changes: [], unchanged: 0, inForce: true });
  expect(calls()).toEqual([]);
  await apply({ objects: [PROVIDER_OBJECT] }, '?prune=true');
  expect(calls()).toHaveLength(4);
  expect(world.asked.every(({ body }) => body['prune'] === true)).toBe(true);
});

test.each([
  ['catalog.apply', 'objects[1].spec.baseUrl', 'objects[2].spec.baseUrl'],
  ['billing.apply-plans', 'plans[0].spec.models', 'objects[0].spec.models'],
  ['billing.apply-plans', 'elsewhere', 'elsewhere'],
])('%s refuses at %s and the error names the place in the document', async (name, param, expected) => {
  world.scriptByName(name, () => ({ refused: { code: 'invalid_request', message: 'no', param } }));
  const answer = await apply({ objects: [PLAN_OBJECT, PROVIDER_OBJECT, SOURCE_OBJECT] });
  expect([answer.status, errorOf(answer).param]).toEqual([400, expected]);
  expect(calls().filter((call) => call.endsWith('real'))).toEqual([]);
});

test('the error says that the catalog was applied if the plans are refused then', async () => {
  world.scriptByName('billing.apply-plans', (body) =>
    (body as { dryRun: boolean }).dryRun
      ? { changes: [], unchanged: 0 }
      : { refused: { code: 'state_conflict', message: 'changed meanwhile', param: null } },
  );
  const answer = await apply({ objects: [PLAN_OBJECT, PROVIDER_OBJECT] });
  expect([answer.status, errorOf(answer).code]).toEqual([409, 'state_conflict']);
  expect(errorOf(answer).message).toBe("the catalog's objects were applied, the plans were not: changed meanwhile");
});

test('a credential is sealed for its source and equal in dry run and apply', async () => {
  world.env['UPSTREAM_KEY'] = 'sk-env';
  const fromEnv = { ...SOURCE_OBJECT, id: 'src-2', spec: { ...SOURCE_PUT, credential: { fromEnv: 'UPSTREAM_KEY' } } };
  const bare = { ...SOURCE_OBJECT, id: 'src-3', spec: SOURCE_PUT };
  const none = { ...SOURCE_OBJECT, id: 'src-4', spec: { ...SOURCE_PUT, credential: null } };
  await apply({ objects: [SOURCE_OBJECT, fromEnv, bare, none] });
  const [dry, real] = world.asked.map(
    ({ body }) => body['objects'] as { id: string; sealedCredential?: string; spec: object }[],
  );
  expect(real).toEqual(dry);
  expect(JSON.stringify(world.asked)).not.toMatch(/sk-1|sk-env|UPSTREAM_KEY/);
  const opened = real?.map(({ id, sealedCredential }) =>
    sealedCredential ? openSealed(sealedCredential, id, SOURCE_KEYS) : sealedCredential,
  );
  expect(opened).toEqual(['sk-1', 'sk-env', undefined, null]);
  expect(() => openSealed(real?.[0]?.sealedCredential as string, 'src-2', SOURCE_KEYS)).toThrow();
});

test('a cloud credential file is sent as one line', async () => {
  world.env['UPSTREAM_KEY'] = '{\n  "type": "service_account",\n  "private_key": "-----BEGIN\\nKEY"\n}\n';
  const source = { ...SOURCE_OBJECT, spec: { ...SOURCE_PUT, credential: { fromEnv: 'UPSTREAM_KEY' } } };
  await apply({ objects: [source] });
  const [sent] = world.asked[0]?.body['objects'] as { id: string; sealedCredential: string }[];
  const text = openSealed(sent?.sealedCredential ?? '', sent?.id ?? '', SOURCE_KEYS);
  expect(text).toBe('{"type":"service_account","private_key":"-----BEGIN\\nKEY"}');
});

test.each(['GATEWAY_KEY_PEPPER', 'GATEWAY_ANYTHING', 'PROVIDER_NOT_SET', 'AWS_WEB_IDENTITY_TOKEN'])(
  '{fromEnv: %s} is refused with its place',
  async (name) => {
    for (const set of ['GATEWAY_KEY_PEPPER', 'AWS_WEB_IDENTITY_TOKEN']) world.env[set] = 'canary';
    const source = { ...SOURCE_OBJECT, spec: { ...SOURCE_PUT, credential: { fromEnv: name } } };
    const answer = await apply({ objects: [PROVIDER_OBJECT, source] });
    expect([answer.status, errorOf(answer).param]).toEqual([400, 'objects[1].spec.credential.fromEnv']);
    expect(answer.text).not.toContain('canary');
    expect(world.asked).toEqual([]);
  },
);

const P = '{kind: provider, id: prov, spec: {name: Provider, format: openai}}';
test.each([
  ['objects', `objects:\n  - ${P}\n`, yaml],
  ['a plain list', `- ${P}`, { 'content-type': 'application/x-yaml' }],
  ['one object', P, { 'content-type': 'text/yaml; charset=utf-8' }],
  [
    'several documents',
    `---\n# none here\n---\n${P}\n---\n- {kind: provider, id: other, spec: {name: Other, format: openai}}`,
    yaml,
  ],
  ['an anchor', `- ${P.replace('spec: {', 'spec: &s {')}\n- {kind: provider, id: other, spec: *s}`, yaml],
  ['a list as JSON', JSON.stringify([PROVIDER_OBJECT]), {}],
])('%s is read', async (_name, text, headers) => {
  expect((await apply(text, '', headers)).status).toBe(200);
  expect(world.asked[0]?.body).toMatchObject({ objects: expect.arrayContaining([PROVIDER_OBJECT]) });
});

const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]\n${[...'bcdefghi'].map((name, at) => `${name}: &${name} [${Array(10).fill(`*${'abcdefghi'[at]}`).join(', ')}]`).join('\n')}`;
test.each([
  ['nothing', '# only a remark', /empty/],
  ['broken YAML', 'objects:\n  - {kind: provider', /not valid YAML/],
  ['a key that stands twice', 'objects: []\nobjects: []', /not valid YAML \(line 2\)/],
  ['a tag of its own', '- !secret {kind: provider}', /not valid YAML/],
  ['a merge', `x: &x {a: 1}\ny: {<<: *x}`, /is not known|objects/],
  ['too many aliases', bomb, /not valid YAML/],
  ['an alias inside of what it names', '&a [*a]', /not valid YAML/],
  ['deep nesting', '['.repeat(1_000_000), /not valid YAML/],
  ['deep nesting in blocks', '- '.repeat(400_000), /not valid YAML/],
  [
    'money without quotes',
    '- {kind: model, id: p/m, spec: {displayName: M, kind: chat, prices: {inputPerMillion: 1.5, outputPerMillion: "2"}}}',
    /money is a decimal string/,
  ],
  ['a scalar among documents', `${P}\n---\njust text`, /document 2/],
  ['a scalar', 'just text', /the body/],
])('%s gets 400', async (_name, text, message) => {
  const answer = await apply(text, '', yaml);
  expect([answer.status, errorOf(answer).code]).toEqual([400, 'invalid_request']);
  expect(errorOf(answer).message).toMatch(message);
  expect(world.asked).toEqual([]);
});

test.each(['?dryrun=true', '?dryRun=yes', '?prune=1'])(
  '%s is refused, so that nothing is applied by mistake',
  async (query) => {
    expect((await apply({ objects: [PROVIDER_OBJECT] }, query)).status).toBe(400);
    expect(world.asked).toEqual([]);
  },
);

test('a document that exceeds one message gets 400 with a remedy', async () => {
  const headers = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`x-${at}`, 'v'.repeat(1_000)]));
  const objects = Array.from({ length: 2 }, (_, at) => ({
    ...SOURCE_OBJECT,
    id: `s-${at}`,
    spec: { ...SOURCE_PUT, headers, credential: 'c' },
  }));
  const padded = {
    ...SOURCE_OBJECT,
    id: 's-3',
    spec: { ...SOURCE_PUT, headers: Object.fromEntries(Object.entries(headers).slice(0, 190)) },
  };
  const answer = await apply({ objects: [...objects, padded] });
  expect([answer.status, errorOf(answer).code]).toEqual([400, 'invalid_request']);
  expect(errorOf(answer).message).toMatch(/split the request/);
});

test.each([
  ['putModel', 'PUT', '/models/pub/model', 'a price'],
  ['putSource', 'PUT', '/sources/src', 'another host'],
])('%s runs a dry run first and refuses a change that the role may not make', async (id, method, path, what) => {
  const someone = {
    id: 'opr_1',
    name: 'oz',
    role: 'operator',
    createdAt: new Date(0).toISOString(),
    createdBy: 'root',
  };
  world.scriptByName('accounts.find-operator', () => ({ operator: someone }));
  const model = { before: { prices: null }, after: { prices: { perCall: '0' } } };
  const kept = { hasCredential: true };
  const source = {
    before: { ...kept, baseUrl: 'https://a.example' },
    after: { ...kept, baseUrl: 'https://b.example' },
  };
  const views = id === 'putModel' ? { kind: 'model', ...model } : { kind: 'source', ...source };
  const tried = { id: 'x', change: 'changed', credentialChanged: false, ...views };
  world.scriptByName('catalog.apply', () => ({ changes: [tried], unchanged: 0, revision: 1, inForce: true }));
  const body =
    id === 'putModel'
      ? { displayName: 'M', kind: 'chat', prices: { inputPerMillion: '0.00', outputPerMillion: '0.00' } }
      : { ...SOURCE_PUT, credential: undefined };
  const token = secretFrom('mgo_', 'a'.repeat(40));
  const answer = await world.send(method, path, { token, body });
  expect([answer.status, errorOf(answer).code]).toEqual([403, 'operator_forbidden']);
  expect(errorOf(answer).message).toContain(what);
  expect(world.asked.map(({ name }) => name)).toEqual(['accounts.find-operator', 'catalog.apply']);
  expect(world.asked[1]?.body).toMatchObject({ dryRun: true, prune: false });
});

test('prune by a role without the money permission deletes no plan', async () => {
  const someone = {
    id: 'opr_1',
    name: 'oz',
    role: 'operator',
    createdAt: new Date(0).toISOString(),
    createdBy: 'root',
  };
  world.scriptByName('accounts.find-operator', () => ({ operator: someone }));
  const gone = { kind: 'plan', id: 'pro', change: 'deleted', before: {}, after: null, credentialChanged: false };
  world.scriptByName('catalog.apply', () => ({ changes: [], unchanged: 0, revision: 1, inForce: true }));
  world.scriptByName('billing.apply-plans', () => ({ changes: [gone], unchanged: 0 }));
  const token = secretFrom('mgo_', 'a'.repeat(40));
  for (const query of ['prune=true', 'prune=true&dryRun=true']) {
    const answer = await world.send('POST', `/apply?${query}`, { token, body: { objects: [] } });
    expect([answer.status, errorOf(answer).code]).toEqual([403, 'operator_forbidden']);
  }
  expect(world.asked.filter(({ body }) => body['dryRun'] === false)).toEqual([]);
});
