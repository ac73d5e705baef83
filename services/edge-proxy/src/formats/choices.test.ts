import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import fc from 'fast-check';
import { EventSplitter } from './event-stream.js';
import type { MeterResult } from './meter.js';
import { TOKENS_MAX } from './read-usage.js';
import { READERS } from './readers.js';
import { DEEP_JSON } from '../../test/deep-json.js';
import { meterText as meterTextAs, type MeterRun, type MeterOptions } from '../../test/meter-text.js';

/** Values of `error` that report no error, as JSON. */
const EMPTY_ERRORS = ['null', 'false', '0', '""', '{}', '[]'];
/**
 * Timeout of a property test. It takes up to 1 s on an idle machine; a busy one must not fail it.
 */
const PROPERTY_MS_MAX = 60_000;

const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 34,
  total_tokens: 46,
  prompt_tokens_details: { cached_tokens: 5 },
  completion_tokens_details: { reasoning_tokens: 30 },
};
const NONE = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
const READ = { input: 12, cachedInput: 5, cacheWrite: 0, cacheWrite1h: 0, output: 34 };

const delta = (content: string, more: object = {}): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'up',
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
  ...more,
});
const finish = (index = 0, more: object = {}): object => ({
  choices: [{ index, delta: {}, finish_reason: 'stop' }],
  ...more,
});
const usageChunk = (usage: unknown): object => ({ id: 'c1', choices: [], usage });

test('a stream is metered: text, finish, usage, marker', () => {
  const { seen, result } = meter([delta('Hé'), delta('llo'), finish(), usageChunk(USAGE), '[DONE]']);
  expect(seen).toEqual(['pass', 'pass', 'pass', 'early', 'final']);
  expect(result).toEqual({ usage: READ, problem: null, deliveredBytes: 6, finished: true });
});

test.each<[string, object[], object]>([
  ['is the last count if every chunk has one', [delta('b', { usage: USAGE })], { usage: READ }],
  ['is the last count if the end of the choice has one', [delta('b'), finish(0, { usage: USAGE })], { usage: READ }],
  ['is at least a count before further text', [delta('b')], { usage: null, begun: { input: 9, outputAtLeast: 2 } }],
  [
    'is at least a count before more text and an input alone',
    [delta('b'), usageChunk({ prompt_tokens: 9 })],
    { usage: null, begun: { input: 9, output: null, outputAtLeast: 2 } },
  ],
])('the output of a stream with running counts %s', (_name, chunks, expected) => {
  const running = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
  const { result } = meter([delta('a', { usage: running }), ...chunks, finish(), '[DONE]']);
  expect(result).toMatchObject(expected);
});

test('only the usage event that the gateway requested is removed', () => {
  const sseEvents = [
    { choices: [], prompt_filter_results: [] },
    delta('', { usage: USAGE }),
    delta('a', { usage: null }),
    delta('b', { usage: USAGE }),
    { choices: [], usage: null },
    finish(0, { usage: USAGE }),
    usageChunk(USAGE),
    '[DONE]',
  ];
  const passed = ['early', 'early', 'pass', 'pass', 'early', 'pass'];
  expect(meter(sseEvents, { dropUsageChunk: true }).seen).toEqual([...passed, 'drop', 'final']);
  expect(meter(sseEvents, { dropUsageChunk: false }).seen).toEqual([...passed, 'early', 'final']);
});

const EMPTY_CHOICE = { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null };

test.each<[string, object]>([
  ['without choices', { id: 'c1', usage: USAGE }],
  ['with choices null', { id: 'c1', choices: null, usage: USAGE }],
  ['with empty choices', { id: 'c1', choices: [], usage: USAGE, obfuscation: 'x7', system_fingerprint: 'fp' }],
  ['under the name of Groq', { id: 'c1', x_groq: { id: 'r', usage: USAGE } }],
  ['in both places', { id: 'c1', choices: [], usage: {}, x_groq: { usage: USAGE } }],
  ['with an empty delta', { id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: null }], usage: USAGE }],
  ['with an empty delta after the end', { id: 'c1', choices: [EMPTY_CHOICE], usage: USAGE }],
])('a usage chunk %s does not reach a client that did not request it', (_name, chunk) => {
  const { seen, result } = meter([delta('a'), finish(), chunk, '[DONE]'], { dropUsageChunk: true });
  expect(seen).toEqual(['pass', 'pass', 'drop', 'final']);
  expect(result.usage).toEqual(READ);
  expect(meter([delta('a'), finish(), chunk]).seen.at(-1)).toBe('early');
});

test.each<[string, object]>([
  ['its text', { content: 'a' }],
  ['a tool call', { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'fn', arguments: '' } }] }],
  ['arguments', { tool_calls: [{ index: 0, function: { arguments: '{' } }] }],
  ['reasoning', { content: '', reasoning_content: 'hm' }],
  ['reasoning of OpenRouter', { reasoning: 'hm' }],
  ['encrypted reasoning', { reasoning_details: [{ type: 'reasoning.encrypted', data: 'zz', format: 'x' }] }],
  ['a refusal', { refusal: 'no' }],
  ['audio', { audio: { data: 'AAAA' } }],
  ['an image', { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] }],
  ['an annotation', { annotations: [{ type: 'url_citation', url_citation: { url: 'https://e.example' } }] }],
])('a chunk with usage and %s is relayed', (_name, shown) => {
  const chunk = { choices: [{ index: 0, delta: shown, finish_reason: null }], usage: USAGE };
  expect(meter([chunk], { dropUsageChunk: true }).seen).toEqual(['pass']);
});

test.each<[string, object]>([
  ['a role', { role: 'assistant', content: '' }],
  ['empty members', { role: 'assistant', content: null, refusal: null, tool_calls: [], reasoning_content: '' }],
  ['the id of audio', { audio: { id: 'a', expires_at: 7 } }],
])('a chunk with only %s is held', (_name, nothing) => {
  expect(
    meter([{ choices: [{ index: 0, delta: nothing, logprobs: { content: [] }, finish_reason: '' }] }]).seen,
  ).toEqual(['early']);
});

test('log probabilities and finish reasons are content', () => {
  const tokens = { choices: [{ index: 0, delta: {}, logprobs: { content: [{ token: 'a', logprob: -1 }] } }] };
  expect(meter([tokens, finish()]).seen).toEqual(['pass', 'pass']);
});

test('a stream without a choice is an error of its source', () => {
  expect(meter(['[DONE]']).seen).toEqual(['error']);
  expect(meter([{ choices: [] }, usageChunk(USAGE), '[DONE]']).seen).toEqual(['early', 'early', 'error']);
  expect(meter([delta(''), '[DONE]']).seen).toEqual(['early', 'final']);
  expect(READERS.chat.readPlain(Buffer.from('{"choices":[]}')).finished).toBe(false);
  expect(READERS.completion.readPlain(Buffer.from('{"choices":[]}')).finished).toBe(false);
});

test('the usage of a failing chunk is read', () => {
  const failing = { error: { code: 502, message: 'x' }, choices: [], usage: USAGE };
  expect(meter([delta('a'), failing]).result.usage).toEqual(READ);
  const inside = { choices: [{ index: 0, delta: {}, error: { code: 502 } }], usage: USAGE };
  expect(meter([delta('a'), inside])).toMatchObject({ seen: ['pass', 'error'], result: { usage: READ } });
});

test('cache writes are 1-hour writes if the request asks for these', () => {
  const written = { ...USAGE, prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 4 } };
  const asked = meter([usageChunk(written)], { cacheWriteTtl1h: true }).result;
  expect(asked.usage).toEqual({ ...READ, cacheWrite1h: 4 });
});

test.each<[string, unknown, MeterResult['usage'], MeterResult['problem']]>([
  ['absent', undefined, null, 'absent'],
  ['null', null, null, 'absent'],
  ['zero', { prompt_tokens: 0, completion_tokens: 0 }, { ...READ, input: 0, cachedInput: 0, output: 0 }, null],
  [
    'without details',
    { prompt_tokens: 3, completion_tokens: 4 },
    { ...READ, input: 3, cachedInput: 0, output: 4 },
    null,
  ],
  [
    'written input',
    { ...USAGE, prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 4 } },
    { ...READ, cacheWrite: 4 },
    null,
  ],
  ['null details', { ...USAGE, prompt_tokens_details: null }, { ...READ, cachedInput: 0 }, null],
  ['null cached', { ...USAGE, prompt_tokens_details: { cached_tokens: null } }, { ...READ, cachedInput: 0 }, null],
  ['the largest count', { ...USAGE, prompt_tokens: TOKENS_MAX }, { ...READ, input: TOKENS_MAX }, null],
  ['empty', {}, null, 'malformed'],
  ['without input', { completion_tokens: 4 }, null, 'malformed'],
  ['without output', { prompt_tokens: 4 }, null, 'malformed'],
  ['null output', { prompt_tokens: 4, completion_tokens: null }, null, 'malformed'],
  ['negative', { prompt_tokens: 4, completion_tokens: -1 }, null, 'malformed'],
  ['negative, with a total', { ...USAGE, completion_tokens: -1 }, READ, null],
  ['a fraction, with a total', { ...USAGE, prompt_tokens: 1.5 }, READ, null],
  ['a string, with a total', { ...USAGE, prompt_tokens: '12' }, READ, null],
  ['too large, with a total', { ...USAGE, completion_tokens: TOKENS_MAX + 1 }, READ, null],
  ['above its total', { prompt_tokens: 4, total_tokens: 3 }, null, 'malformed'],
  ['without output, all input', { prompt_tokens: 4, total_tokens: 4 }, { ...NONE, input: 4 }, null],
  ['total alone', { total_tokens: 4 }, null, 'malformed'],
  ['negative cached', { ...USAGE, prompt_tokens_details: { cached_tokens: -5 } }, { ...READ, cachedInput: 0 }, null],
  [
    'one bad cached count of two',
    { ...USAGE, cached_tokens: 1e30, prompt_tokens_details: { cached_tokens: 5 } },
    READ,
    null,
  ],
  ['details as an array', { ...USAGE, prompt_tokens_details: [] }, { ...READ, cachedInput: 0 }, null],
  ['details of another kind', { ...USAGE, prompt_tokens_details: 5 }, { ...READ, cachedInput: 0 }, null],
  ['a number', 46, null, 'malformed'],
  ['an array', [1], null, 'malformed'],
  ['false', false, null, 'malformed'],
])('usage %s', (_name, usage, read, problem) => {
  const streamed = meter([delta('a'), usageChunk(usage), '[DONE]']).result;
  expect(streamed).toMatchObject({ usage: read, problem });
  const plain = READERS.chat.readPlain(Buffer.from(JSON.stringify({ id: 'c1', choices: [{ index: 0 }], usage })));
  expect(plain).toMatchObject({ usage: read, problem, finished: true });
});

test('the best usage counts, not the sum, and later reports do not lower it', () => {
  const early = { prompt_tokens: 12, completion_tokens: 1 };
  expect(meter([delta('a', { usage: early }), finish(0, { usage: USAGE })]).result.usage).toEqual(READ);
  expect(meter([finish(0, { usage: USAGE }), { choices: [], usage: null }]).result.usage).toEqual(READ);
  for (const nothing of [{}, { prompt_tokens: -1 }, { prompt_tokens: 12 }, [], 7, { ...USAGE, completion_tokens: 1 }]) {
    expect(meter([finish(0, { usage: USAGE }), usageChunk(nothing)]).result.usage).toEqual(READ);
  }
});

test('a stream is finished by the marker or by all finish reasons', () => {
  expect(meter([delta('a')]).result.finished).toBe(false);
  expect(meter([delta('a'), '[DONE]']).result.finished).toBe(true);
  expect(meter([delta('a'), finish()]).result.finished).toBe(true);
  expect(meter([finish(0), finish(0)], { choices: 2 }).result.finished).toBe(false);
  expect(meter([finish(0), finish(1)], { choices: 2 }).result.finished).toBe(true);
});

test.each(['', 'null', 0, true, {}, null])('a finish reason of %p is ignored', (reason) => {
  const unfinished = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: reason }] };
  expect(meter([unfinished]).result.finished).toBe(false);
  expect(meter([unfinished, finish()]).result.finished).toBe(true);
});

test('only requested choices count as finished', () => {
  const others = [-1, 2, 1.5, '0', 'x', {}, true].map((index) => ({ choices: [{ index, finish_reason: 'stop' }] }));
  expect(meter([...others, finish(0)], { choices: 2 }).result.finished).toBe(false);
  expect(meter([...others, finish(0), finish(1)], { choices: 2 }).result.finished).toBe(true);
  expect(meter([{ choices: [{ delta: {}, finish_reason: 'stop' }] }]).result.finished).toBe(true);
});

test.each([
  ['an error object', { error: { message: 'x' } }, 'error'],
  ['an error next to choices', { ...delta('a'), error: { code: 500 } }, 'error'],
  ['an error as a string', { error: 'overloaded' }, 'error'],
  ['an old error of vLLM', { object: 'error', message: 'x', code: 400 }, 'error'],
  ['error null', { ...delta('a'), error: null }, 'pass'],
  ['an error that the model writes', delta('{"error":{"message":"x"}}'), 'pass'],
  ['an error inside', { choices: [{ delta: { error: 'x' } }] }, 'pass'],
])('read() treats %s as %s', (_name, sseEvent, as) => {
  expect(meter([sseEvent]).seen).toEqual([as]);
});

test('an error event is an error with any data', () => {
  for (const text of ['event: error\ndata: {"x":1}\n\n', 'event: error\ndata: nonsense\n\n', 'event: error\n\n']) {
    expect(meterText(text).seen).toEqual(['error']);
  }
});

test.each([
  'data: nonsense "usage" "error"\n\n',
  'data: {"choices":[{"delta":{"content":"ab\n\n',
  ': note\n\n',
  'data:\n\n',
  'data: 7\n\n',
])('%j is relayed without being read', (text) => {
  const { seen, result } = meterText(text);
  expect(seen).toEqual(['early']);
  expect(result).toMatchObject({ usage: null, problem: 'absent', finished: false });
});

test.each(['data: [DONE]\n\n', 'data:[DONE]\n\n', 'data:  [DONE] \n\n', 'data: [DONE]'])(
  '%j is the final marker',
  (text) => {
    expect(meterText(`data: ${JSON.stringify(delta('a'))}\n\n${text}`).seen).toEqual(['pass', 'final']);
  },
);

test.each<[string, object, number]>([
  ['content', { role: 'assistant', content: 'abc' }, 3],
  ['reasoning', { reasoning_content: 'abcd', content: null }, 4],
  ['a refusal', { refusal: 'no' }, 2],
  [
    'a tool call',
    { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'fn', arguments: '{"a":1}' } }] },
    9,
  ],
  ['audio without its data', { audio: { id: 'a', data: 'AAAA', transcript: 'hi' } }, 2],
  ['nothing', {}, 0],
])('text of %s is counted', (_name, generated, bytes) => {
  expect(meter([{ choices: [{ index: 0, delta: generated, finish_reason: null }] }]).result.deliveredBytes).toBe(bytes);
  const plain = { choices: [{ index: 0, message: generated, finish_reason: 'stop' }] };
  expect(READERS.chat.readPlain(Buffer.from(JSON.stringify(plain, null, 2))).deliveredBytes).toBe(bytes);
});

test(
  'the decoded bytes of any text in all choices are counted',
  () => {
    const text = fc.string({ unit: 'binary' }).map((string) => Buffer.from(string).toString());
    const escape = (json: string): string =>
      json.replace(/[^\p{ASCII}]/gu, (character) =>
        Array.from(
          { length: character.length },
          (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
        ).join(''),
      );
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 4 }),
        fc.boolean(),
        fc.constantFrom(undefined, 1),
        (texts, escaped, indent) => {
          const choices = texts.map((content, index) => ({ index, delta: { content }, finish_reason: null }));
          const json = JSON.stringify({ choices }, null, indent);
          const sseEvent = `data: ${(escaped ? escape(json) : json).replaceAll('\n', '\ndata: ')}\n\n`;
          const expected = texts.reduce((sum, content) => sum + Buffer.byteLength(content), 0);
          expect(meterText(sseEvent).result.deliveredBytes).toBe(expected);
        },
      ),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test(
  'read() reads an event as JSON.parse does and never throws',
  () => {
    const name = fc.constantFrom('usage', 'error', 'choices', 'delta', 'finish_reason', 'x');
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('"usage"', '"delta":{', 'x\\"error"', '\\'));
    fc.assert(
      fc.property(fc.dictionary(name, value), (chunk) => {
        const { seen, result } = meter([chunk]);
        const hasError = ![undefined, ...EMPTY_ERRORS].includes(JSON.stringify(chunk['error']));
        if (hasError) expect(seen).toEqual(['error']);
        else expect(['pass', 'early', 'error']).toContain(seen[0]);
        if (chunk['usage'] === undefined) expect(result.problem).toBe('absent');
      }),
      { numRuns: 1_000 },
    );
  },
  PROPERTY_MS_MAX,
);

test.each([
  ['not JSON', '<html>', { usage: null, problem: 'malformed', deliveredBytes: 0, finished: false }],
  ['cut', '{"choices":[', { usage: null, problem: 'malformed', deliveredBytes: 0, finished: false }],
  ['an array', '[]', { usage: null, problem: 'malformed', deliveredBytes: 0, finished: false }],
  ['an error', '{"error":{"message":"x"}}', { usage: null, problem: 'absent', deliveredBytes: 0, finished: false }],
  ['an old error of vLLM', '{"object":"error","message":"x","code":400}', { problem: 'absent', finished: false }],
  ['choices null', '{"choices":null}', { problem: 'absent', finished: false }],
  ['no choices', '{"detail":"Not Found"}', { problem: 'absent', finished: false }],
  [
    'an error of MiniMax',
    '{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}',
    { finished: false },
  ],
  [
    'error null',
    '{"choices":[{}],"error":null}',
    { usage: null, problem: 'absent', deliveredBytes: 0, finished: true },
  ],
])('readPlain() reads a body: %s', (_name, body, result) => {
  expect(READERS.chat.readPlain(Buffer.from(body))).toMatchObject(result);
});

test('a legacy completion is metered by the text of its choices', () => {
  const piece = (text: string, finish: string | null = null): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason: finish }] })}\n\n`;
  const usage = `data: ${JSON.stringify(usageChunk(USAGE))}\n\n`;
  const stream = `${piece('Hé')}${piece('llo', 'stop')}${usage}data: [DONE]\n\n`;
  const { seen, result } = meterTextAs(READERS.completion, stream, { dropUsageChunk: true });
  expect(seen).toEqual(['pass', 'pass', 'drop', 'final']);
  expect(result).toEqual({ usage: READ, problem: null, deliveredBytes: 6, finished: true });
  const plain = Buffer.from(JSON.stringify({ choices: [{ text: 'abc' }, { text: 'de' }], usage: USAGE }));
  expect(READERS.completion.readPlain(plain)).toMatchObject({ usage: READ, deliveredBytes: 5, finished: true });
});

test.each([
  ['nested too deeply to be serialized', DEEP_JSON],
  ['of another kind', '-1.5'],
  ['longer than any name', `"${'x'.repeat(10_000)}"`],
])('members of a chunk that are %s are not in the created usage event', (_name, value) => {
  const chunk = `data: {"id":${value},"object":${value},"created":${value},"model":${value},"choices":[]}\n\n`;
  const { meter: made } = meterText(chunk, { makesUsageEvent: true });
  const [sseEvent] = new EventSplitter().push(made.usageEvent?.(READ) ?? Buffer.alloc(0));
  expect(Object.keys(JSON.parse(String(sseEvent?.data)))).toEqual(['choices', 'usage']);
});

test('a cut stream ends with an error event instead of the marker', () => {
  const meterOfCut = READERS.chat.streamMeter({ dropUsageChunk: false, choices: 1 });
  const [sseEvent] = new EventSplitter().push(meterOfCut.cutEnding(gatewayError('upstream_timeout'), 'r-1'));
  expect(JSON.parse(String(sseEvent?.data))).toMatchObject({ error: { code: 'upstream_timeout', request_id: 'r-1' } });
  expect(String(sseEvent?.bytes)).not.toContain('[DONE]');
});

function meter(sseEvents: readonly (object | string)[], options: MeterOptions = {}): MeterRun {
  const text = sseEvents
    .map((sseEvent) => `data: ${typeof sseEvent === 'string' ? sseEvent : JSON.stringify(sseEvent)}\n\n`)
    .join('');
  return meterText(text, options);
}

function meterText(text: string, options: MeterOptions = {}): MeterRun {
  return meterTextAs(READERS.chat, text, options);
}
