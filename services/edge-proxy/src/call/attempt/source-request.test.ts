import { expect, test } from '@jest/globals';
import { openSealed, publicHalfOf, Secret, sealTo } from '@gateway/service-kit';
import { openSource } from '../../upstream/source-entries.js';
import { ENDPOINT_TABLE, type EndpointSpec } from '../../formats/endpoints.js';
import { parseCall } from '../../parse/parse-call.js';
import { readHead } from '../../http/read-head.js';
import { sourceEntry } from '../../../test/edge-world.js';
import type { CatalogSource, Endpoint } from '@gateway/contracts/messages';
import type { AdmittedCall } from '../call.js';
import { buildSourceRequest } from './source-request.js';

const KEYS = {
  privateKey: { current: new Secret(Buffer.alloc(32, 7)), previous: new Secret(Buffer.alloc(32, 8)) },
};
const BODY = Buffer.from('{"model":"pub/model","max_tokens":5,"messages":[{"role":"user","content":"x"}]}');

interface Options {
  readonly raw?: string[];
  readonly query?: string;
  readonly path?: Endpoint;
  /** The request has the class `fast`, which has a price. */
  readonly asksFast?: true;
}

const SPEED = { field: 'speed', asks: { fast: 'fast' as const }, answersAt: null, answers: {}, betas: ['fast-mode-'] };
const RULES = { classes: [SPEED], tools: [], freeTools: [], unpricedFields: {} };
const FAST = { kind: 'priced', asked: { class: 'fast', units: {}, field: 'speed' }, once: [] } as const;

function requestFor(more: Partial<CatalogSource>, options: Options = {}) {
  const row = ENDPOINT_TABLE.get(options.path ?? '/v1/chat/completions') as EndpointSpec;
  const result = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, BODY);
  if (!result.ok) throw new Error(result.finding.message);
  const headers = readHead(['content-type', 'application/json', ...(options.raw ?? [])]);
  // Only the fields that the request is built from.
  const call = {
    row,
    parsed: result.call,
    body: { bytes: BODY, free: () => undefined },
    request: { headers, query: options.query ?? '' },
    reading: options.asksFast === true ? { rules: RULES, read: FAST } : null,
  } as unknown as AdmittedCall;
  const source = sourceEntry('src', 'https://provider.example/base/', more);
  const credential = source.sealedCredential === null ? null : openSealed(source.sealedCredential, 'src', KEYS);
  return buildSourceRequest(call, openSource(source, credential), false);
}

const header = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === name);

test('the address is the base URL with the endpoint path or the path of the source', () => {
  expect(requestFor({})).toMatchObject({ origin: 'https://provider.example', path: '/base/v1/chat/completions' });
  expect(requestFor({ paths: { '/v1/chat/completions': '/deployments/x?api-version=1' } }).path).toBe(
    '/base/deployments/x?api-version=1',
  );
});

test("the user agent is the gateway's or the source's, never the client's", () => {
  const raw = ['user-agent', 'client/1'];
  expect(header(requestFor({}, { raw }).headers, 'user-agent')).toEqual(['model-gateway/1']);
  const headers = { 'User-Agent': 'partner/2' };
  expect(header(requestFor({ headers }, { raw }).headers, 'user-agent')).toEqual(['partner/2']);
});

test('only the beta parameter of the query is forwarded', () => {
  expect(requestFor({}, { query: 'a=1&beta=true&b=2' }).path).toBe('/base/v1/chat/completions?beta=true');
  expect(requestFor({}, { query: 'nobeta=1&beta=%0d' }).path).toBe('/base/v1/chat/completions');
  const paths = { '/v1/chat/completions': '/x?v=1' };
  expect(requestFor({ paths }, { query: 'beta=true' }).path).toBe('/base/x?v=1&beta=true');
});

test("the credential is sent in the source's header, also one sealed with the old key", () => {
  const sealedCredential = sealTo('old', 'src', publicHalfOf(KEYS.privateKey.previous));
  const { headers } = requestFor({ auth: { type: 'header', header: 'X-Api-Key' }, sealedCredential });
  expect(header(headers, 'x-api-key')).toEqual(['old']);
  expect(header(headers, 'authorization')).toEqual([]);
  expect(header(requestFor({ sealedCredential: null }).headers, 'authorization')).toEqual([]);
});

test("the source's headers replace the client's; connection headers are omitted", () => {
  const { headers } = requestFor(
    { headers: { 'OpenAI-Beta': 'fixed', 'x-extra': '1', 'Transfer-Encoding': 'chunked', host: 'evil' } },
    { raw: ['OpenAI-Beta', 'mine', 'Cookie', 'a=b', 'Accept', 'text/event-stream'] },
  );
  expect(header(headers, 'openai-beta')).toEqual(['fixed']);
  expect(header(headers, 'x-extra')).toEqual(['1']);
  expect(header(headers, 'accept')).toEqual(['text/event-stream']);
  for (const name of ['transfer-encoding', 'host', 'cookie']) expect(header(headers, name)).toEqual([]);
});

test.each([
  ['pass', 'one, two', ['one, two']],
  [['two'], 'one, two', ['two']],
  [[], 'one', []],
] as const)('betas are filtered by the rule %j', (betas, sent, expected) => {
  const { headers } = requestFor({ betas: betas === 'pass' ? betas : [...betas] }, { raw: ['anthropic-beta', sent] });
  expect(header(headers, 'anthropic-beta')).toEqual(expected);
});

test('betas that change the price are dropped if the source refuses them', () => {
  const sent = 'context-management-2025-06-27, fast-mode-2026-02-01,Fast-Mode-x, two';
  const { headers } = requestFor({ betas: 'pass', betasRefused: ['fast-mode-'] }, { raw: ['anthropic-beta', sent] });
  expect(header(headers, 'anthropic-beta')).toEqual(['context-management-2025-06-27,two']);
});

test.each([
  ['standard', { betas: 'pass' as const, betasRefused: ['fast-mode-'] }],
  ['a list', { betas: ['context-management-2025-06-27'] }],
])('the beta of a priced, requested class is forwarded where betas are %s', (_name, rule) => {
  const raw = ['anthropic-beta', 'context-management-2025-06-27,fast-mode-2026-02-01'];
  const of = (options: Options) => header(requestFor(rule, { raw, ...options }).headers, 'anthropic-beta');
  expect(of({ asksFast: true })).toEqual(['context-management-2025-06-27,fast-mode-2026-02-01']);
  expect(of({})).toEqual(['context-management-2025-06-27']);
});

test.each([
  [['X-Grok-Conv-Id', 'conv 1'], ['conv 1']],
  [['x-grok-conv-id', 'one', 'x-grok-conv-id', 'two'], ['one']],
  [['x-grok-conv-id', 'x'.repeat(512)], ['x'.repeat(512)]],
  [['x-grok-conv-id', 'x'.repeat(513)], []],
  [['x-grok-conv-id', 'caf\u00e9'], []],
  [['x-grok-conv-id', ''], []],
])('of the listed headers %j, %j is forwarded', (raw, expected) => {
  const { headers } = requestFor({ forwardHeaders: ['x-grok-conv-id'] }, { raw: [...raw, 'x-other', '1'] });
  expect(header(headers, 'x-grok-conv-id')).toEqual(expected);
  expect(header(headers, 'x-other')).toEqual([]);
  expect(header(requestFor({}, { raw }).headers, 'x-grok-conv-id')).toEqual([]);
});

test("a listed header does not replace the source's own or its credential", () => {
  const raw = ['x-tenant', 'theirs', 'x-login', 'theirs'];
  const forwardHeaders = ['x-tenant', 'x-login'];
  const auth = { type: 'header' as const, header: 'X-Login' };
  const { headers } = requestFor({ forwardHeaders, auth, headers: { 'x-tenant': 'ours' } }, { raw });
  expect(header(headers, 'x-tenant')).toEqual(['ours']);
  expect(header(headers, 'x-login')).not.toContain('theirs');
});

test('the content type is that of the checked body, without client parameters', () => {
  const { headers } = requestFor({}, { raw: ['content-type', 'application/json; charset=utf-16'] });
  expect(header(headers, 'content-type')).toEqual(['application/json']);
});

test.each<[Endpoint, Partial<CatalogSource>, string[], string[]]>([
  ['/v1/messages', {}, [], ['2023-06-01']],
  ['/v1/messages/count_tokens', {}, [], ['2023-06-01']],
  ['/v1/messages', {}, ['Anthropic-Version', '2024-01-01'], ['2024-01-01']],
  ['/v1/messages', { headers: { 'Anthropic-Version': 'fixed' } }, [], ['fixed']],
  ['/v1/messages', { headers: { 'Anthropic-Version': 'fixed' } }, ['anthropic-version', 'mine'], ['fixed']],
  ['/v1/chat/completions', {}, [], []],
  ['/v1/chat/completions', {}, ['anthropic-version', '2024-01-01'], ['2024-01-01']],
])('the messages protocol version on %s: source %j, client %j', (path, more, raw, expected) => {
  expect(header(requestFor(more, { path, raw }).headers, 'anthropic-version')).toEqual(expected);
});

test('a class header is sent only to sources whose rules read it', () => {
  const raw = ['X-MS-Service-Tier', 'flex'];
  const rule = { field: 'x-ms-service-tier', asks: { flex: 'flex' as const }, answersAt: null, answers: {} };
  const pricing = { classes: [rule], tools: [], freeTools: [], unpricedFields: {} };
  const of = (more: Partial<CatalogSource>) => header(requestFor(more, { raw }).headers, 'x-ms-service-tier');
  expect(of({ pricing })).toEqual(['flex']);
  expect(of({ pricing: { ...pricing, classes: [{ ...rule, field: 'service_tier' }] } })).toEqual([]);
  expect(of({})).toEqual([]);
});
