import { expect, test } from '@jest/globals';
import { judgeAttempt, type AttemptResult } from '../errors/judge-attempt.js';
import { classifyResult, cleanProviderText, type TestResult } from './test-findings.js';

const TARGET = {
  host: 'api.acme.example',
  path: '/v1/chat/completions',
  upstreamModel: 'acme-1',
  hasCredential: true,
  isBilled: true,
};
const FACTS = { style: 'chat', streamed: false, upstreamModel: 'acme-1' } as const;

const answered = (status: number, error: object | string, contentType = 'application/json'): AttemptResult => ({
  kind: 'answered',
  status,
  waitMs: undefined,
  contentType,
  contentEncoding: undefined,
  bodyStart: Buffer.from(typeof error === 'string' ? error : JSON.stringify({ error })),
});
const facts = (result: AttemptResult, more: Partial<TestResult> = {}): TestResult => ({
  judged: judgeAttempt(result, FACTS),
  meter: null,
  failure: null,
  noCredential: null,
  isLate: false,
  target: TARGET,
  ...more,
});
const unreached = (reason: string, kind: 'unreachable' | 'private' = 'unreachable'): TestResult =>
  facts({ kind: 'unreachable' }, { failure: { kind, reason } });
const USAGE = { input: 3, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2 };
const OK = answered(200, {});

test.each<[string, TestResult, string, RegExp]>([
  ['a response with usage', facts(OK, { meter: { usage: USAGE, problem: null } }), 'works', /^It works\.$/],
  ['a response without usage', facts(OK, { meter: { usage: null, problem: 'absent' } }), 'works', /reports no usage/],
  ['unreadable usage', facts(OK, { meter: { usage: null, problem: 'malformed' } }), 'works', /cannot be read/],
  ['an unbilled endpoint', facts(OK, { target: { ...TARGET, isBilled: false } }), 'works', /^It works\.$/],
  [
    'a reasoning model out of tokens',
    facts(
      answered(400, {
        message: 'Could not finish the message because max_tokens or model output limit was reached. Please try again.',
        type: 'invalid_request_error',
      }),
    ),
    'works',
    /used the output limit/,
  ],
  ['a rejected output limit', facts(answered(400, { message: 'max_tokens exceeds the limit of 8192' })), 'body', /./],
  ['401', facts(answered(401, { message: 'Incorrect API key provided' })), 'credential', /refuses the credential/],
  [
    '401 without a credential',
    facts(answered(401, {}), { target: { ...TARGET, hasCredential: false } }),
    'credential',
    /has none/,
  ],
  [
    'no token',
    facts({ kind: 'unreachable' }, { noCredential: 'the token endpoint returned 400' }),
    'credential',
    /returned 400/,
  ],
  ['402', facts(answered(402, {})), 'funds', /no funds/],
  ['insufficient_quota', facts(answered(429, { code: 'insufficient_quota' })), 'funds', /add credit/],
  ['403 without a reason', facts(answered(403, {})), 'forbidden', /gives no reason/],
  [
    'a country',
    facts(
      answered(403, {
        code: 'unsupported_country_region_territory',
        message: 'Country, region, or territory not supported',
      }),
    ),
    'region',
    /does not serve the country/,
  ],
  [
    'a location',
    facts(answered(400, { status: 'FAILED_PRECONDITION', message: 'User location is not supported for the API use.' })),
    'region',
    /country or region/,
  ],
  [
    'a model',
    facts(answered(404, { code: 'model_not_found', message: 'no' })),
    'model',
    /does not know the model acme-1/,
  ],
  ['404 without a reason', facts(answered(404, 'not found', 'text/plain')), 'path', /nothing at \/v1\/chat\/comp/],
  ['429', facts(answered(429, { message: 'slow down' })), 'quota', /credential works/],
  ['400', facts(answered(400, { message: 'Unsupported parameter' })), 'body', /see its error text/],
  ['500', facts(answered(500, {})), 'overload', /with status 500/],
  ['a redirect', facts(answered(302, '', 'text/html')), 'answer', /with status 302/],
  ['a page', facts(answered(200, '<html>', 'text/html')), 'answer', /not come from a model provider/],
  ['a late response', facts({ kind: 'timed_out', limit: 'headers', sent: true }), 'slow', /api\.acme\.example gave no/],
  ['the end of the test time', facts({ kind: 'abandoned', sent: true }, { isLate: true }), 'slow', /in time/],
  ['an unknown host name', unreached('ENOTFOUND'), 'dns', /api\.acme\.example cannot be resolved/],
  ['no name server', unreached('EAI_AGAIN'), 'dns', /cannot be resolved/],
  ['a certificate', unreached('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls', /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ['a certificate of another host', unreached('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls', /No trusted connection/],
  ['an unknown CA', unreached('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'tls', /NODE_EXTRA_CA_CERTS/],
  ['a closed port', unreached('ECONNREFUSED'), 'address', /ECONNREFUSED/],
  ['a private address', unreached('private', 'private'), 'address', /GATEWAY_ALLOW_PRIVATE_SOURCES/],
  [
    'a reset',
    facts(
      { kind: 'broken_before_head', reusedConnection: false },
      { failure: { kind: 'unanswered', reason: 'ECONNRESET' } },
    ),
    'broken',
    /before its response \(ECONNRESET\)/,
  ],
  ['an unusable body', facts({ kind: 'unusable_body' }), 'answer', /check baseUrl/],
])('findingOf() classifies %s', (_name, given, finding, text) => {
  expect(classifyResult(given)).toEqual({ finding, text: expect.stringMatching(text) });
});

test('shownText() removes secrets, addresses and IDs, and limits the length', () => {
  const reported = (message: string) => ({ message, codes: [], status: null, moderated: false });
  expect(cleanProviderText(reported('No right with plain-secret at https://inner.example/x'), ['plain-secret'])).toBe(
    'No right with [removed] at [removed]',
  );
  expect(cleanProviderText(reported('x '.repeat(2_000)), [])).toHaveLength(500);
  expect(cleanProviderText(reported(''), [])).toBeNull();
  expect(cleanProviderText(null, [])).toBeNull();
});
