import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import {
  COOL_DOWN_DEFAULT_MS,
  COOL_DOWN_MS_MAX,
  selectFinalError,
  judgeAttempt,
  RETRY_DEFAULT_MS,
  RETRY_MS_MAX,
} from './judge-attempt.js';
import type { AttemptFacts, AttemptResult, AttemptJudgment } from './judge-attempt.js';

/** The form of Gemini: in a list, with the duration as Protocol Buffers encode it in JSON. */
const RETRY_INFO = JSON.stringify([
  {
    error: {
      code: 429,
      message: 'You exceeded your current quota.',
      status: 'RESOURCE_EXHAUSTED',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaValue: '15' }] },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.494s' },
      ],
    },
  },
]);
const FACTS: AttemptFacts = { style: 'chat', streamed: false, upstreamModel: 'up-1' };
const GENERIC = "The model's provider rejected the request body.";

test.each<[number, AttemptJudgment['step'], number, string]>([
  [400, 'final', 400, 'invalid_request'],
  [401, 'next_source', 401, 'upstream_auth_error'],
  [402, 'next_source', 403, 'upstream_auth_error'],
  [403, 'next_source', 403, 'upstream_auth_error'],
  [404, 'next_source', 404, 'model_not_found'],
  [405, 'final', 400, 'invalid_request'],
  [408, 'next_source', 504, 'upstream_timeout'],
  [409, 'final', 400, 'invalid_request'],
  [413, 'final', 413, 'request_entity_too_large'],
  [418, 'final', 400, 'invalid_request'],
  [422, 'final', 400, 'invalid_request'],
  [425, 'next_source', 504, 'upstream_timeout'],
  [429, 'next_source', 429, 'rate_limit_exceeded'],
  [451, 'final', 400, 'invalid_request'],
  [500, 'next_source', 500, 'upstream_error'],
  [501, 'next_source', 501, 'upstream_error'],
  [502, 'next_source', 502, 'upstream_error'],
  [503, 'next_source', 503, 'upstream_error'],
  [504, 'next_source', 504, 'upstream_error'],
  [524, 'next_source', 524, 'upstream_error'],
  [529, 'next_source', 529, 'upstream_error'],
  [599, 'next_source', 599, 'upstream_error'],
  [600, 'final', 502, 'upstream_error'],
  [301, 'final', 502, 'upstream_error'],
  [302, 'final', 502, 'upstream_error'],
  [307, 'final', 502, 'upstream_error'],
  [204, 'final', 502, 'upstream_error'],
  [206, 'final', 502, 'upstream_error'],
])("a provider's status %i: %s, the client would get %i %s", (status, step, clientStatus, code) => {
  const judged = judge(answered({ status }));
  expect(judged).toMatchObject({
    step,
    status,
    outcome: 'rejected',
    reached: true,
    error: { status: clientStatus, code },
  });
});

test.each<[string, AttemptResult, Partial<AttemptJudgment>, string | null]>([
  [
    'unreachable',
    { kind: 'unreachable' },
    { step: 'next_source', outcome: 'unreachable', possiblyPaid: false, reached: false, countsAsFailure: true },
    'upstream_unreachable',
  ],
  [
    'no head within the limit',
    { kind: 'timed_out', limit: 'headers', sent: true },
    { step: 'next_source', outcome: 'timed_out', possiblyPaid: true, reached: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'no first event within the limit',
    { kind: 'timed_out', limit: 'first_event', sent: true },
    { step: 'next_source', outcome: 'timed_out', possiblyPaid: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'silence in the body',
    { kind: 'timed_out', limit: 'silence', sent: true },
    { step: 'final', outcome: 'timed_out', possiblyPaid: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'beyond 600 s',
    { kind: 'timed_out', limit: 'deadline', sent: true },
    { step: 'final', outcome: 'timed_out', possiblyPaid: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'no connection within the limit on the head',
    { kind: 'timed_out', limit: 'headers', sent: false },
    { step: 'next_source', outcome: 'unreachable', possiblyPaid: false, reached: false, countsAsFailure: true },
    'upstream_unreachable',
  ],
  [
    'no connection within 600 s',
    { kind: 'timed_out', limit: 'deadline', sent: false },
    { step: 'final', outcome: 'unreachable', possiblyPaid: false, reached: false, countsAsFailure: true },
    'upstream_unreachable',
  ],
  [
    'broken on a reused connection',
    { kind: 'broken_before_head', reusedConnection: true },
    { step: 'fresh_connection', outcome: 'broken', possiblyPaid: true, countsAsFailure: false },
    'upstream_timeout',
  ],
  [
    'broken on a fresh connection',
    { kind: 'broken_before_head', reusedConnection: false },
    { step: 'next_source', outcome: 'broken', possiblyPaid: true, reached: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'broken in the body',
    { kind: 'broken_in_body' },
    { step: 'next_source', outcome: 'broken', possiblyPaid: true, countsAsFailure: true },
    'upstream_timeout',
  ],
  [
    'client disconnected',
    { kind: 'abandoned', sent: true },
    { step: 'final', outcome: 'abandoned', possiblyPaid: true, countsAsFailure: false },
    null,
  ],
  [
    'ended by the gateway',
    { kind: 'stopped', sent: true, error: gatewayError('account_suspended') },
    { step: 'final', outcome: 'abandoned', possiblyPaid: true, reached: true, countsAsFailure: false },
    'account_suspended',
  ],
  [
    'client disconnected before it was sent',
    { kind: 'abandoned', sent: false },
    { step: 'final', outcome: 'abandoned', possiblyPaid: false, reached: false, countsAsFailure: false },
    null,
  ],
])('judgeAttempt() judges an attempt: %s', (_name, result, expected, code) => {
  const judged = judge(result);
  expect(judged).toMatchObject(expected);
  expect(judged.error?.code ?? null).toBe(code);
});

test("a plain body that is not a response is the provider's error, 502", () => {
  const judged = judge({ kind: 'unusable_body' });
  expect(judged).toMatchObject({ step: 'next_source', outcome: 'broken', possiblyPaid: true, countsAsFailure: true });
  expect(judged.error).toMatchObject({ status: 502, code: 'upstream_error' });
});

test('a usable response is final and has no error', () => {
  expect(judge(answered({ status: 200 }))).toEqual({
    step: 'final',
    outcome: 'completed',
    status: 200,
    possiblyPaid: false,
    error: null,
    coolDownMs: null,
    retryInMs: null,
    countsAsFailure: false,
    reached: true,
    refusal: null,
    errorClass: null,
    reported: null,
  });
});

test.each<[boolean, string | undefined, string | undefined, boolean]>([
  [false, 'application/json', undefined, true],
  [false, 'Application/JSON; charset=utf-8', 'identity', true],
  [false, 'application/vnd.api+json', '', true],
  [false, 'text/html', undefined, false],
  [false, 'text/event-stream', undefined, false],
  [false, undefined, undefined, false],
  [false, 'application/json', 'gzip', false],
  [true, 'text/event-stream; charset=utf-8', undefined, true],
  [true, 'application/json', undefined, false],
  [true, 'text/event-stream', 'br', false],
])('streamed %p, content-type %j, content-encoding %j: usable %p', (streamed, contentType, contentEncoding, usable) => {
  const judged = judge(answered({ status: 200, contentType, contentEncoding }), { streamed });
  if (usable) expect(judged).toMatchObject({ outcome: 'completed', error: null });
  else
    expect(judged).toMatchObject({
      step: 'next_source',
      outcome: 'broken',
      possiblyPaid: true,
      countsAsFailure: true,
      error: { status: 502, code: 'upstream_error' },
    });
});

test.each([
  [undefined, undefined, COOL_DOWN_DEFAULT_MS],
  [7_000, 7, 7_000],
  [0, 1, 1_000],
  [1_200, 2, 2_000],
  [3_600_000, 3_600, COOL_DOWN_MS_MAX],
])('a 429 with %p ms: the client gets %p s, the source a cooldown of %i ms', (waitMs, seconds, coolDownMs) => {
  const judged = judge(answered({ status: 429, waitMs }));
  expect(judged).toMatchObject({ coolDownMs, countsAsFailure: false });
  expect(judged.error?.retryAfterSeconds).toBe(seconds);
});

test.each([
  [429, undefined, RETRY_DEFAULT_MS],
  [429, 0, 0],
  [429, 494, 494],
  [429, RETRY_MS_MAX, RETRY_MS_MAX],
  [429, RETRY_MS_MAX + 1, null],
  [529, undefined, RETRY_DEFAULT_MS],
  [529, 60_000, null],
  [503, undefined, null],
  [503, 2_000, 2_000],
  [500, 100, null],
  [402, 100, null],
])('a %i with a wait of %p ms is retried after %p ms', (status, waitMs, retryInMs) => {
  expect(judge(answered({ status, waitMs })).retryInMs).toBe(retryInMs);
});

test.each([
  ['insufficient funds', 429, '{"error":{"code":"insufficient_quota"}}', null],
  [
    'a throttled AWS model',
    400,
    '{"__type":"ThrottlingException","message":"slow down","code":"ThrottlingException"}',
    1_000,
  ],
  ["Google's RetryInfo", 429, RETRY_INFO, 494],
])('%s with a %i is retried after %p ms', (_name, status, body, retryInMs) => {
  expect(judge(answered({ status, bodyStart: Buffer.from(body as string) })).retryInMs).toBe(retryInMs);
});

test("Google's RetryInfo is the wait if no header states one", () => {
  const bodyStart = Buffer.from(RETRY_INFO.replace('0.494s', '41s'));
  expect(judge(answered({ status: 429, bodyStart }))).toMatchObject({
    coolDownMs: 41_000,
    error: { retryAfterSeconds: 41 },
  });
  expect(judge(answered({ status: 429, bodyStart, waitMs: 7_000 })).error?.retryAfterSeconds).toBe(7);
});

test('only a 429 has Retry-After and a cooldown', () => {
  for (const status of [400, 413, 500, 503, 529]) {
    const judged = judge(answered({ status, waitMs: 7_000 }));
    expect(judged.coolDownMs).toBeNull();
    expect(judged.error?.retryAfterSeconds).toBeUndefined();
  }
});

test.each([
  [400, false, null],
  [401, false, 'certain'],
  [402, false, 'certain'],
  [403, false, 'unclear'],
  [404, false, 'unclear'],
  [408, true, null],
  [409, false, null],
  [500, true, null],
  [503, true, null],
  [302, true, null],
])('a %i counts as failure %p and as refusal %p', (status, countsAsFailure, refusal) => {
  expect(judge(answered({ status }))).toMatchObject({ countsAsFailure, refusal });
});

test("only 400 and 422 on chat-style endpoints include the provider's text", () => {
  const bodyStart = Buffer.from('{"error":{"message":"temperature is too hot"}}');
  for (let status = 200; status <= 599; status += 1) {
    for (const style of ['chat', 'messages'] as const) {
      const message = judge(answered({ status, bodyStart, contentType: 'text/plain' }), { style }).error?.message;
      const shows = style === 'chat' && (status === 400 || status === 422);
      expect(message?.includes('too hot')).toBe(shows);
    }
  }
});

test.each([
  ['not JSON', 'bad request'],
  ['cut JSON', '{"error":{"message":"temperature'],
  ['no message', '{"error":{"code":1}}'],
  ['a message without a text', '{"error":{"message":{"a":1}}}'],
  ['an empty message', '{"error":{"message":"  "}}'],
  ['nothing', ''],
])("a 400 with a body of %s gets the gateway's text", (_name, body) => {
  expect(judge(answered({ status: 400, bodyStart: Buffer.from(body) })).error?.message).toBe(GENERIC);
});

test('an encoded error body is not read', () => {
  const bodyStart = Buffer.from('{"error":{"message":"hot"}}');
  expect(judge(answered({ status: 400, bodyStart, contentEncoding: 'gzip' })).error?.message).toBe(GENERIC);
});

test.each([
  ["This model's maximum context length is 8192 tokens.", 'prompt is too long for this model'],
  ['prompt is too long: 210000 tokens > 200000 maximum', 'prompt is too long for this model'],
  ['temperature is too hot', GENERIC],
])('on messages endpoints %j becomes %j', (message, text) => {
  const bodyStart = Buffer.from(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
  expect(judge(answered({ status: 400, bodyStart }), { style: 'messages' }).error?.message).toBe(text);
});

test("the text of a 413 does not name the gateway's limit", () => {
  expect(judge(answered({ status: 413 })).error?.message).not.toContain('10 MB');
});

test('the text for refused credentials does not quote the provider', () => {
  const bodyStart = Buffer.from('{"error":{"message":"Incorrect API key provided: sk-abc123"}}');
  expect(judge(answered({ status: 401, bodyStart })).error?.message).toMatch(/Your API key is fine/);
});

test('the error for a 404 names the model or the missing object if known', () => {
  const of = (error: object) =>
    judge(answered({ status: 404, bodyStart: Buffer.from(JSON.stringify({ error })) })).error;
  expect(of({ message: 'The model `up-1` does not exist', code: 'model_not_found' })).toMatchObject({
    code: 'model_not_found',
    param: 'model',
    message: "The model's provider does not know this model.",
  });
  for (const message of ["Item with id 'rs_1' not found.", 'File not found: file_1']) {
    const error = of({ message });
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: null });
    expect(error?.message).toContain('that the request refers to');
  }
  expect(of({ message: 'Not Found' })).toMatchObject({ code: 'model_not_found', param: null });
});

test('a JSON response to a streamed request is judged by its error', () => {
  const bodyStart = Buffer.from('{"error":{"code":429,"message":"slow down"}}');
  const judged = judge(answered({ status: 200, bodyStart, waitMs: 7_000 }), { streamed: true });
  expect(judged).toMatchObject({ step: 'next_source', status: 200, coolDownMs: 7_000, countsAsFailure: false });
  expect(judged.error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 7 });
});

test('finalError() prefers a final error, then the last one that may be retried', () => {
  const unauthorized = judge(answered({ status: 401 }));
  const limited = judge(answered({ status: 429, waitMs: 3_000 }));
  const down = judge(answered({ status: 503 }));
  const unknown = judge(answered({ status: 404 }));
  const rejected = judge(answered({ status: 400 }));
  expect(selectFinalError([limited, unauthorized])).toMatchObject({
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 3,
  });
  expect(selectFinalError([down, unknown, unauthorized])).toMatchObject({ status: 503, code: 'upstream_error' });
  expect(selectFinalError([down, limited, unknown])).toMatchObject({ code: 'rate_limit_exceeded' });
  expect(selectFinalError([unauthorized, unknown])).toMatchObject({ code: 'model_not_found' });
  expect(selectFinalError([unauthorized, judge({ kind: 'unreachable' })])).toMatchObject({
    code: 'upstream_auth_error',
  });
  expect(selectFinalError([limited, rejected])).toMatchObject({ status: 400, code: 'invalid_request' });
});

test('finalError() is the error of the last attempt that reached a provider', () => {
  const unreachable = judge({ kind: 'unreachable' });
  const limited = judge(answered({ status: 429, waitMs: 3_000 }));
  const down = judge(answered({ status: 503 }));
  const broken = judge({ kind: 'broken_before_head', reusedConnection: false });
  expect(selectFinalError([])).toMatchObject({ status: 502, code: 'upstream_unreachable' });
  expect(selectFinalError([unreachable, unreachable])).toMatchObject({ status: 502, code: 'upstream_unreachable' });
  expect(selectFinalError([limited, unreachable])).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 3 });
  expect(selectFinalError([limited, down, unreachable])).toMatchObject({ status: 503, code: 'upstream_error' });
  expect(selectFinalError([down, limited])).toMatchObject({ code: 'rate_limit_exceeded' });
  expect(selectFinalError([unreachable, broken, unreachable])).toMatchObject({ status: 504, code: 'upstream_timeout' });
});

test.each([401, 403])('a %i is retried with a fresh credential before it counts', (status) => {
  const judged = judge(answered({ status }), { other: 'token' });
  expect(judged).toMatchObject({
    step: 'fresh_credential',
    outcome: 'rejected',
    refusal: null,
    countsAsFailure: false,
  });
  expect(judge(answered({ status })).refusal).not.toBeNull();
});

test('an error that a fresh credential would not change is not retried', () => {
  const moderated = answered({ status: 403, bodyStart: Buffer.from('{"error":{"code":"content_filter"}}') });
  expect(judge(moderated, { other: 'token' }).step).toBe('final');
  expect(judge(answered({ status: 429 }), { other: 'token' }).step).toBe('next_source');
  expect(judge(answered({ status: 402 }), { other: 'token' }).step).toBe('next_source');
});

test.each([401, 402, 403, 429])('a %i cools down only the used key of several, and another key is tried', (status) => {
  const { coolDownMs, refusal } = judge(answered({ status }));
  const judged = judge(answered({ status }), { other: 'key' });
  expect(judged).toMatchObject({ step: 'fresh_credential', refusal: null, coolDownMs: null });
  expect(judged.keyRest).toEqual({ coolDownMs, refusal });
  const second = judge(answered({ status }), { other: 'key_later' });
  expect(second).toMatchObject({ step: 'next_source', refusal: null, coolDownMs: null });
  expect(second.keyRest).toEqual({ coolDownMs, refusal });
});

test('an error that another key would not change is judged as usual', () => {
  for (const status of [400, 404, 500, 503]) {
    expect(judge(answered({ status }), { other: 'key' })).toEqual(judge(answered({ status })));
  }
});

function judge(result: AttemptResult, facts: Partial<AttemptFacts> = {}): AttemptJudgment {
  return judgeAttempt(result, { ...FACTS, ...facts });
}

type Answered = Extract<AttemptResult, { kind: 'answered' }>;

function answered(answer: Partial<Answered> & { status: number }): Answered {
  return {
    kind: 'answered',
    waitMs: undefined,
    contentType: 'application/json',
    contentEncoding: undefined,
    bodyStart: Buffer.alloc(0),
    ...answer,
  };
}
