import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import { shouldRequestUsage, buildForwardBody } from './forward-body.js';
import { parseCall } from './parse-call.js';
import type { ParsedCall } from './parse-call.js';

/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const CHAT = ENDPOINT_TABLE.get('/v1/chat/completions') as EndpointSpec;

test.each([
  ['absent', '"n":1', '"n":1', ',"stream_options":{"include_usage":true}'],
  ['null', '"stream_options":null', '"stream_options":{"include_usage":true}', ''],
  ['empty', '"stream_options":{ }', '"stream_options":{"include_usage":true }', ''],
  ['another option', '"stream_options":{"x":1}', '"stream_options":{"include_usage":true,"x":1}', ''],
  ['false', '"stream_options":{"include_usage": false}', '"stream_options":{"include_usage": true}', ''],
  ['null inside', '"stream_options":{"x":1,"include_usage":null}', '"stream_options":{"x":1,"include_usage":true}', ''],
])('forwardBody() adds include_usage to stream_options: %s', (_name, before, after, afterModel) => {
  const body = `{"stream":true, "model" : "a/b" ,"messages":[],${before}}`;
  const forwarded = forward(body, { addStreamUsage: true }).toString();
  expect(forwarded).toBe(`{"stream":true, "model" : "up"${afterModel} ,"messages":[],${after}}`);
});

test('forwardBody() splices options before the model as well as after it', () => {
  const forwarded = forward('{"stream_options":{},"stream":true,"messages":[],"model":"a/b"}', {
    addStreamUsage: true,
  });
  expect(forwarded.toString()).toBe(
    '{"stream_options":{"include_usage":true},"stream":true,"messages":[],"model":"up"}',
  );
});

test('forwardBody() replaces only the top-level model', () => {
  const body = '{"messages":[{"model":"a/b"}],"m":{"model":"a/b"},"mod\\u0065l":"a\\/b"}';
  const forwarded = forward(body).toString();
  expect(forwarded).toBe('{"messages":[{"model":"a/b"}],"m":{"model":"a/b"},"mod\\u0065l":"up"}');
});

test('forwardBody() writes a model name of any characters as JSON', () => {
  const upstreamModel = 'a"\\\n\u2028é😀';
  const forwarded = forward('{"model":"a/b","messages":[]}', { upstreamModel });
  expect(JSON.parse(forwarded.toString())).toEqual({ model: upstreamModel, messages: [] });
});

test.each([
  [{ stream: true }, true, true],
  [{ stream: true, stream_options: { include_usage: false } }, true, true],
  [{ stream: true, stream_options: { include_usage: true } }, true, false],
  [{ stream: true }, false, false],
  [{ stream: false }, true, false],
  [{}, true, false],
])('addsStreamUsage() for %j with source support %p is %p', (fields, sourceCan, asks) => {
  const body = Buffer.from(JSON.stringify({ model: 'a/b', messages: [], ...fields }));
  expect(shouldRequestUsage(parse(body), sourceCan)).toBe(asks);
});

const value = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 });
const streamOptions = fc.oneof(
  fc.constant(null),
  fc.record({ include_usage: fc.constantFrom(true, false, null), other: value }, { requiredKeys: [] }),
);
const fields = fc.record(
  { stream: fc.boolean(), stream_options: streamOptions, n: fc.integer({ min: 1, max: 4 }), tools: value, x: value },
  { requiredKeys: [] },
);

test(
  'forwardBody() changes only the model and the stream option',
  () => {
    const indents = fc.constantFrom(undefined, 2, '\t');
    fc.assert(
      fc.property(
        fields,
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        indents,
        fc.boolean(),
        (rest, content, add, indent, first) => {
          const required = { model: 'lab/one', messages: [{ role: 'user', content }] };
          const original = first ? { ...required, ...rest } : { ...rest, ...required };
          const forwarded = forward(JSON.stringify(original, null, indent), { addStreamUsage: add });
          // JSON has no -0, so the expected value is parsed from the text that was sent.
          const sent = JSON.parse(JSON.stringify(original)) as typeof original;
          expect(JSON.parse(forwarded.toString())).toEqual({
            ...sent,
            model: 'up',
            ...(add ? { stream_options: { ...sent.stream_options, include_usage: true } } : {}),
          });
        },
      ),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'forwardBody() keeps all bytes outside the changed values',
  () => {
    fc.assert(
      fc.property(fields, fc.boolean(), (rest, add) => {
        const source = JSON.stringify({ ...rest, model: 'lab/one', messages: [] }, null, 1);
        const body = Buffer.from(source);
        const call = parse(body);
        const forwarded = Buffer.concat(buildForwardBody(call, body, { upstreamModel: 'up', addStreamUsage: add }));
        const { model, streamOptions: options } = call.spans;
        const changed = [{ start: model.start, end: model.end }, ...(add && options !== null ? [options] : [])];
        changed.sort((one, other) => one.start - other.start);
        let kept = 0;
        let rejoined = 0;
        for (const { start, end } of [...changed, { start: body.length, end: body.length }]) {
          const piece = body.subarray(kept, start);
          rejoined = forwarded.indexOf(piece, rejoined);
          expect(rejoined).toBeGreaterThanOrEqual(0);
          rejoined += piece.length;
          kept = end;
        }
        expect(rejoined).toBe(forwarded.length);
      }),
      { numRuns: 500 },
    );
  },
  PROPERTY_MS_MAX,
);

function forward(source: string, options: { upstreamModel?: string; addStreamUsage?: boolean } = {}): Buffer {
  const body = Buffer.from(source);
  return Buffer.concat(buildForwardBody(parse(body), body, { upstreamModel: 'up', addStreamUsage: false, ...options }));
}

function parse(body: Buffer): ParsedCall {
  const result = parseCall(CHAT, { contentType: 'application/json', contentEncoding: undefined }, body);
  if (!result.ok) throw new Error(`refused: ${result.finding.message}`);
  return result.call;
}
