import type { ScriptStep } from '@gateway/provider-simulator';
import { PROVIDER_CODE } from './formats.js';
import type { FailoverFormat } from './formats.js';
import { FIRST_SEEN } from './scenario.js';
import type { SourceBehaviour, ExpectedResponse, ExpectedCall, ExpectedHealth, Scenario } from './scenario.js';

/** Timeout of stalling sources, short so that no scenario waits long. */
const STALL_MS = 400;
const COOL_DOWN_DEFAULT_MS = 5_000;
const REFUSED_MS = 30_000;
const BREAKER_FAILURES = 5;
const BREAKER_OPEN_MS = 30_000;

const WHOLE: ExpectedResponse = { kind: 'whole' };
const TIMEOUT = { status: 504, code: 'upstream_timeout' } as const;
const PROVIDER_ERROR = JSON.stringify({
  error: { message: 'The server had an error.', type: PROVIDER_CODE, code: PROVIDER_CODE },
});

const SERVED_BY_A: ExpectedCall = { a: 'serves', b: 'serves', client: WHOLE, queried: ['a'], charged: 'a' };

const failsOver = (a: SourceBehaviour): ExpectedCall => ({
  a,
  b: 'serves',
  client: WHOLE,
  queried: ['a', 'b'],
  charged: 'b',
});
/** Only `b` is queried, because `a` is in its cooldown. */
const SERVED_BY_B: ExpectedCall = { ...SERVED_BY_A, queried: ['b'], charged: 'b' };

const refused = (
  a: SourceBehaviour,
  client: Omit<Extract<ExpectedResponse, { kind: 'refused' }>, 'kind'>,
): ExpectedCall => ({
  a,
  b: 'serves',
  client: { kind: 'refused', ...client },
  queried: ['a'],
  charged: null,
});

/** The client has received the first event before `a` fails. */
const breaksOff = (after: (format: FailoverFormat) => ScriptStep, isProviderError?: true): ExpectedCall => ({
  a: ({ format }) => [{ chunk: format.first }, { waitFor: FIRST_SEEN }, after(format)],
  b: 'serves',
  client: {
    kind: 'broken_off',
    ...(isProviderError === undefined ? { code: TIMEOUT.code } : { code: 'upstream_error', isProviderError }),
  },
  queried: ['a'],
  charged: null,
});

const bothFail = (
  a: SourceBehaviour,
  b: SourceBehaviour,
  client: Omit<Extract<ExpectedResponse, { kind: 'refused' }>, 'kind'>,
): ExpectedCall => ({
  a,
  b,
  client: { kind: 'refused', ...client },
  queried: ['a', 'b'],
  charged: null,
});

const steps =
  (...all: ScriptStep[]): SourceBehaviour =>
  () =>
    all;
const respondsWith = (status: number, headers: Record<string, string> = {}): SourceBehaviour =>
  steps({ status, headers });
const failsWith = (status: number, error: object): SourceBehaviour =>
  steps({ status }, { chunk: JSON.stringify({ error: { type: 'invalid_request_error', ...error } }) });

const health = (
  lastOutcome: string,
  failuresInARow: number,
  rest?: { state: 'cooling' | 'open'; ms: number },
): ExpectedHealth => ({
  state: rest?.state ?? 'healthy',
  failuresInARow,
  lastOutcome,
  restMs: rest?.ms ?? null,
});

/** Creates a scenario with the same result for plain and streamed requests. */
const same = (
  name: string,
  calls: readonly ExpectedCall[],
  expected: ExpectedHealth,
  more: Partial<Scenario> = {},
): Scenario => ({ name, plain: calls, streamed: calls, health: expected, ...more });

const failing = (status: number): Scenario =>
  same(`${status}`, [failsOver(respondsWith(status))], health('rejected', 1));
const LIMITED = { 'retry-after': '5' };
const STALLED: SourceBehaviour = steps({ end: 'stall' });
const RESET: SourceBehaviour = steps({ end: 'reset' });

/**
 * The expected values are derived from
 * docs/decisions/0001-the-class-of-an-error-decides-failover.md and the tables of
 * docs/behaviour.md. They are not recorded from a run.
 */
export const SCENARIOS: readonly Scenario[] = [
  same(
    '429 with Retry-After',
    [failsOver(respondsWith(429, { 'retry-after': '30' }))],
    health('rejected', 0, { state: 'cooling', ms: 30_000 }),
  ),
  same(
    '429 without Retry-After',
    [failsOver(respondsWith(429))],
    health('rejected', 0, { state: 'cooling', ms: COOL_DOWN_DEFAULT_MS }),
  ),
  ...[500, 502, 503, 529].map(failing),
  same('refused connection', [failsOver('refuses connections')], health('unreachable', 1)),
  same('reset before the first byte', [failsOver(RESET)], health('broken', 1)),
  same(
    'reset of a reused connection before the first byte',
    [SERVED_BY_A, { ...SERVED_BY_A, a: RESET, queried: ['a', 'a'] }],
    health('completed', 0),
  ),
  {
    name: 'reset after the first byte',
    plain: [failsOver(steps({ chunk: '{"id":' }, { end: 'reset' }))],
    streamed: [breaksOff(() => ({ end: 'reset' }))],
    health: health('broken', 1),
  },
  same('stall before the headers', [failsOver(STALLED)], health('timed_out', 1), {
    limits: { a: { headersTimeoutMs: STALL_MS } },
  }),
  {
    name: 'stall after the first event',
    limits: { a: { silenceTimeoutMs: STALL_MS } },
    // A plain request would end only at its deadline, after ten minutes.
    plain: null,
    streamed: [breaksOff(() => ({ end: 'stall' }))],
    health: health('timed_out', 1),
  },
  {
    name: 'error as the first event',
    plain: null,
    streamed: [failsOver(({ format }) => [{ chunk: format.error }])],
    health: health('broken', 1),
  },
  {
    name: 'error or break before the first content of a stream',
    plain: null,
    streamed: [
      failsOver(({ format }) => [{ chunk: format.early }, { chunk: format.error }]),
      failsOver(({ format }) => [{ chunk: format.early }, { end: 'reset' }]),
    ],
    health: health('broken', 2),
  },
  {
    name: 'error in mid-stream',
    plain: null,
    streamed: [breaksOff(({ error }) => ({ chunk: error }), true)],
    health: health('broken', 1),
  },
  same(
    '200 with an error body',
    [failsOver(steps({ headers: { 'content-type': 'application/json' } }, { chunk: PROVIDER_ERROR }))],
    health('broken', 1),
  ),
  {
    name: 'truncated JSON',
    plain: [failsOver(steps({ chunk: '{"id":"answer-1","choices":[{"index":0' }))],
    streamed: [breaksOff(({ brokenEvent }) => ({ chunk: brokenEvent }))],
    health: health('broken', 1),
  },
  same(
    'broken SSE',
    [failsOver(steps({ headers: { 'content-type': 'text/event-stream' } }, { chunk: '<html>Bad gateway</html>' }))],
    health('broken', 1),
  ),
  same(
    'rejected credential (401)',
    [failsOver(respondsWith(401))],
    health('rejected', 0, { state: 'cooling', ms: REFUSED_MS }),
  ),
  same(
    'unknown model (404)',
    [
      failsOver(({ upstreamModel }) => [
        { status: 404 },
        {
          chunk: JSON.stringify({
            error: {
              message: `The model ${upstreamModel} does not exist.`,
              type: 'invalid_request_error',
              code: 'model_not_found',
            },
          }),
        },
      ]),
    ],
    health('rejected', 0, { state: 'cooling', ms: REFUSED_MS }),
  ),
  same(
    'moderated prompt',
    [
      refused(failsWith(400, { message: 'The prompt was flagged as unsafe.', code: 'content_policy_violation' }), {
        status: 400,
        code: 'invalid_request',
      }),
    ],
    health('rejected', 0),
  ),
  same(
    'both fail: refused connection, then 503',
    [bothFail('refuses connections', respondsWith(503), { status: 503, code: 'upstream_error' })],
    health('unreachable', 1),
  ),
  same(
    'both fail: 401, then 429 with Retry-After',
    [
      bothFail(respondsWith(401), respondsWith(429, { 'retry-after': '9' }), {
        status: 429,
        code: 'rate_limit_exceeded',
        retryAfter: '9',
      }),
    ],
    health('rejected', 0, { state: 'cooling', ms: REFUSED_MS }),
  ),
  same(
    'both fail: 503, then 401',
    [bothFail(respondsWith(503), respondsWith(401), { status: 503, code: 'upstream_error' })],
    health('rejected', 1),
  ),
  same(
    'both fail: 500, then a stall before the headers',
    [bothFail(respondsWith(500), STALLED, TIMEOUT)],
    health('rejected', 1),
    { limits: { b: { headersTimeoutMs: STALL_MS } } },
  ),
  same(
    'both fail: reset, then a refused connection',
    [bothFail(RESET, 'refuses connections', TIMEOUT)],
    health('broken', 1),
  ),
  same(
    'both fail: no connection to either',
    [bothFail('refuses connections', 'refuses connections', { status: 502, code: 'upstream_unreachable' })],
    health('unreachable', 1),
  ),
  same(
    'alternating: 503, success, 500, success',
    [failsOver(respondsWith(503)), SERVED_BY_A, failsOver(respondsWith(500)), SERVED_BY_A],
    health('completed', 0),
  ),
  same(
    'cooldown after a 429, then recovery',
    [failsOver(respondsWith(429, LIMITED)), SERVED_BY_B, { ...SERVED_BY_A, afterMs: 5_000 }],
    health('completed', 0),
  ),
  same(
    'five failures in a row',
    [...Array.from({ length: BREAKER_FAILURES }, () => failsOver(respondsWith(503))), SERVED_BY_B],
    health('rejected', BREAKER_FAILURES, { state: 'open', ms: BREAKER_OPEN_MS }),
  ),
  same(
    'five failures in a row, then recovery',
    [
      ...Array.from({ length: BREAKER_FAILURES }, () => failsOver(respondsWith(503))),
      SERVED_BY_B,
      { ...SERVED_BY_A, afterMs: BREAKER_OPEN_MS },
    ],
    health('completed', 0),
  ),
];
