import { expect, test } from '@jest/globals';
import type { Endpoint } from '@gateway/contracts/messages';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { parseCall, type ParseResult } from './parse-call.js';

const HEADERS = { contentType: 'application/json', contentEncoding: undefined };
const BODIES: [Endpoint, string][] = [
  ['/v1/chat/completions', '"model":"a/b","messages":[]'],
  ['/v1/completions', '"model":"a/b","prompt":"x"'],
  ['/v1/messages', '"model":"a/b","max_tokens":9,"messages":[]'],
  ['/v1/messages/count_tokens', '"model":"a/b","messages":[]'],
  ['/v1/embeddings', '"model":"a/b","input":"x"'],
  ['/v1/responses', '"model":"a/b","input":"x"'],
];

const rowOf = (path: Endpoint): EndpointSpec => ENDPOINT_TABLE.get(path) as EndpointSpec;
const parse = (path: Endpoint, members: string): ParseResult =>
  parseCall(rowOf(path), HEADERS, Buffer.from(`{${members}}`));
const upperFirst = (name: string): string => (name[0] ?? '').toUpperCase() + name.slice(1);
/**
 * Replaces s and k by the long s and the Kelvin sign, which servers that follow Unicode fold to
 * them.
 */
const inUnicode = (name: string): string => name.replaceAll('s', '\u017f').replaceAll('k', '\u212a');

test.each(BODIES)('%s refuses a known name in another case, before or after the known one', (path, body) => {
  for (const { name } of rowOf(path).fields) {
    for (const twin of [upperFirst(name), name.toUpperCase(), inUnicode(name)]) {
      if (twin === name) continue;
      const member = `${JSON.stringify(twin)}:1`;
      for (const text of [`${member},${body}`, `${body},${member}`]) {
        const result = parse(path, text);
        expect([twin, result]).toMatchObject([twin, { ok: false, finding: { code: 'invalid_request', param: twin } }]);
        expect(result.ok ? '' : result.finding.message).toContain(`"${name}"`);
      }
    }
  }
});

test('parseCall() refuses a name in another case with escapes or alone', () => {
  expect(parse('/v1/chat/completions', '"\\u004dodel":"a/b","messages":[]')).toMatchObject({
    ok: false,
    finding: { code: 'invalid_request', param: 'Model' },
  });
});

test.each(['Temperature', 'model2', 'Mödel', 'x'.repeat(100_000), 'N2', ''])(
  'parseCall() accepts another name: %.20s',
  (name) => {
    expect(parse('/v1/chat/completions', `"model":"a/b","messages":[],${JSON.stringify(name)}:1`).ok).toBe(true);
  },
);

test('parseCall() accepts other cases inside fields, except for include_usage', () => {
  const options = (text: string): ParseResult =>
    parse('/v1/chat/completions', `"model":"a/b","messages":[{"Model":"x"}],"stream_options":{${text}}`);
  expect(options('"Other":1').ok).toBe(true);
  expect(options('"Include_Usage":false')).toMatchObject({ finding: { param: 'stream_options.include_usage' } });
});
