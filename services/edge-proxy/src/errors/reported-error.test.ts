import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { normalizeCode, readError, readErrorBody, REPORTED_TEXT_LENGTH_MAX } from './reported-error.js';

const PROPERTY_MS_MAX = 60_000;
const textOf = (body: string): string | null | undefined => readErrorBody(Buffer.from(body))?.message;

test.each([
  ['{"error":{"message":"too hot","type":"x"}}', 'too hot'],
  ['{"error":"too hot"}', 'too hot'],
  ['{"object":"error","message":"too hot"}', 'too hot'],
  ['{"error":{"message":"inner"},"message":"outer"}', 'inner'],
  ['[{"error":{"code":400,"message":"too hot","status":"INVALID_ARGUMENT"}}]', 'too hot'],
  ['{"message":{"detail":[{"loc":["body","n"],"msg":"too hot","input":"SECRET"}]}}', 'body.n: too hot'],
  ['{"detail":"too hot"}', 'too hot'],
  ['{"detail":[{"loc":["body","a",0],"msg":"one"},{"msg":"two"},"three"]}', 'body.a.0: one; two; three'],
  ['{"Message":"too hot"}', 'too hot'],
  ['{"base_resp":{"status_code":1004,"status_msg":"too hot"}}', 'too hot'],
  ['{"type":"response.failed","response":{"error":{"code":"x","message":"too hot"}}}', 'too hot'],
  ['{"error":{"message":"  "}}', undefined],
  ['{"error":{}}', undefined],
  ['{}', undefined],
  ['[]', undefined],
  ['null', undefined],
  ['', undefined],
  ['{"error":', undefined],
])('the text of %s is %j', (body, text) => {
  expect(textOf(body)).toBe(text);
});

test('codes are found at all places and normalized', () => {
  const body = {
    error: {
      code: 'content_filter',
      type: 'Bad-Request',
      status: 'INVALID_ARGUMENT',
      details: [{ reason: 'API_KEY_INVALID' }, { reason: 7 }],
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    },
  };
  expect(readErrorBody(Buffer.from(JSON.stringify(body)))?.codes).toEqual([
    'contentfilter',
    'badrequest',
    'invalidargument',
    'apikeyinvalid',
    'responsibleaipolicyviolation',
  ]);
  expect(normalizeCode('api-key invalid')).toBe('apikeyinvalid');
});

test.each([
  ['{"error":{"code":429}}', 429],
  ['{"error":{"code":"429","message":"x"}}', 429],
  ['{"error":{"status":503}}', 503],
  ['{"statusCode":401,"message":"x"}', 401],
  ['{"object":"error","message":"x","code":404}', 404],
  ['{"error":{"code":1234,"message":"x"}}', null],
  ['{"error":{"code":200,"message":"x"}}', null],
])('%s has the status %p', (body, status) => {
  expect(readErrorBody(Buffer.from(body))?.status).toBe(status);
});

test('a detail of a detail is read, but no deeper one', () => {
  const nested = (levels: number): unknown => JSON.parse('{"detail":'.repeat(levels) + '"why"' + '}'.repeat(levels));
  expect([nested(1), nested(2), nested(100_000)].map((body) => readError(body)?.message)).toEqual([
    'why',
    'why',
    undefined,
  ]);
});

test('a long text is cut', () => {
  expect(textOf(JSON.stringify({ error: 'x'.repeat(100_000) }))).toHaveLength(REPORTED_TEXT_LENGTH_MAX);
});

test(
  'readErrorBody() throws for no body',
  () => {
    const name = fc.constantFrom(
      'error',
      'message',
      'detail',
      'code',
      'type',
      'status',
      'details',
      'metadata',
      'response',
      'base_resp',
      'loc',
      'msg',
    );
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value')),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        readErrorBody(Buffer.from(JSON.stringify(value)));
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);
