import { expect, test } from '@jest/globals';
import type { BodyRule } from '@gateway/contracts/operator';
import fc from 'fast-check';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { buildForwardBody } from './forward-body.js';
import { parseCall } from './parse-call.js';

const CHAT = ENDPOINT_TABLE.get('/v1/chat/completions') as EndpointSpec;
const COUNT = ENDPOINT_TABLE.get('/v1/messages/count_tokens') as EndpointSpec;
/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

function sent(text: string, rule: BodyRule, row = CHAT, addStreamUsage = false): string {
  const body = Buffer.from(text);
  const parsed = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, body);
  if (!parsed.ok) throw new Error(parsed.finding.message);
  return Buffer.concat(buildForwardBody(parsed.call, body, { upstreamModel: 'up', addStreamUsage, rule })).toString();
}

test.each<[string, BodyRule, string, string]>([
  ['an empty rule', {}, '{"model":"a/b", "messages":[]}', '{"model":"up", "messages":[]}'],
  [
    'remove in the middle',
    { remove: ['x'] },
    '{"model":"a/b","x":{"y":1},"messages":[]}',
    '{"model":"up","messages":[]}',
  ],
  ['remove at the end', { remove: ['x'] }, '{"model":"a/b","messages":[] ,"x":1 }', '{"model":"up","messages":[] }'],
  [
    'remove at the beginning',
    { remove: ['x'] },
    '{ "x":1, "model":"a/b","messages":[]}',
    '{ "model":"up","messages":[]}',
  ],
  ['remove the model', { remove: ['model'] }, '{"model":"a/b","messages":[]}', '{"messages":[]}'],
  [
    'names that the body does not have',
    { remove: ['x'], rename: { y: 'z' } },
    '{"model":"a/b","messages":[]}',
    '{"model":"up","messages":[]}',
  ],
  ['rename', { rename: { x: 'y' } }, '{"model":"a/b","x" : 1,"messages":[]}', '{"model":"up","y":1,"messages":[]}'],
  [
    'rename to a name that exists',
    { rename: { x: 'y' } },
    '{"model":"a/b","x":1,"y":2,"messages":[]}',
    '{"model":"up","y":2,"messages":[]}',
  ],
  [
    'set a new member',
    { set: { v: 'x"1' } },
    '{"model":"a/b","messages":[]}',
    '{"v":"x\\"1","model":"up","messages":[]}',
  ],
  [
    'set an existing member',
    { set: { x: [1] } },
    '{"model":"a/b","x":{"a":2},"messages":[]}',
    '{"model":"up","x":[1],"messages":[]}',
  ],
  ['set the model', { set: { model: 'own' } }, '{"model":"a/b","messages":[]}', '{"model":"own","messages":[]}'],
  [
    'remove ignores a nested name',
    { remove: ['x'] },
    '{"model":"a/b","messages":[{"x":1}]}',
    '{"model":"up","messages":[{"x":1}]}',
  ],
  [
    'remove an escaped name',
    { remove: ['max'] },
    '{"model":"a/b","m\\u0061x":1,"messages":[]}',
    '{"model":"up","messages":[]}',
  ],
])('ruleSplices() applies a rule: %s', (_name, rule, body, expected) => {
  expect(sent(body, rule)).toBe(expected);
});

test('a rule that removes stream_options also removes the usage option', () => {
  const body = '{"model":"a/b","stream":true,"messages":[],"stream_options":{"x":1}}';
  expect(sent(body, { remove: ['stream_options'] }, CHAT, true)).toBe('{"model":"up","stream":true,"messages":[]}');
});

test('a rule may remove the member next to one that the endpoint removes', () => {
  const body = '{"x":1,"stream":true,"model":"a/b","max_tokens":1,"messages":[]}';
  const plain = JSON.parse(sent(body, {}, COUNT)) as object;
  const ruled = JSON.parse(sent(body, { remove: ['x'], set: { v: 1 } }, COUNT)) as object;
  expect(ruled).toEqual({ ...plain, x: undefined, v: 1 });
});

test(
  'any rule on any body changes only the members that it names',
  () => {
    const name: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd');
    const plain = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer()));
    const extras = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
    const rules = fc.record({
      remove: fc.uniqueArray(name, { maxLength: 2 }),
      set: fc.dictionary(name, plain, { maxKeys: 2 }),
    });
    fc.assert(
      fc.property(extras, rules, fc.boolean(), (before, { remove, set }, modelFirst) => {
        const own = { model: 'a/b', messages: [] };
        const body = modelFirst ? { ...own, ...before } : { ...before, ...own };
        const rest = Object.fromEntries(Object.entries(body).filter(([key]) => !remove.includes(key)));
        const expected = { ...rest, model: 'up', ...set };
        expect(JSON.parse(sent(JSON.stringify(body), { remove, set }))).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  },
  PROPERTY_MS_MAX,
);
