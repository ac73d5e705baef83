import type { SeededRandom } from '@gateway/testkit/random';
import { DEEP_JSON } from '../test/deep-json.js';
import { generateStream, type GeneratedStream } from './generate-stream.js';
import { cutBytes, mutate } from './random-cases.js';

export type HostileStream = Omit<GeneratedStream, 'parts'>;

/** Placeholder for {@link DEEP_JSON} until an event is written. */
const DEEP = 'nested too deep';
/** Names that a reader reads. */
const NAMES = [
  ...'choices delta message content text type usage prompt_tokens completion_tokens input_tokens'.split(' '),
  ...'output_tokens total_tokens prompt_tokens_details input_tokens_details cached_tokens'.split(' '),
  ...'cache_read_input_tokens cache_creation ephemeral_1h_input_tokens finish_reason stop_reason index'.split(' '),
  ...'error response item sequence_number detail status id object created created_at model content_block'.split(' '),
  ...'output __proto__ constructor toString'.split(' '),
];
const TYPES = [
  ...'message_start message_delta message_stop content_block_delta content_block_start error ping'.split(' '),
  ...'response.created response.completed response.incomplete response.failed response.output_text.delta'.split(' '),
  ...'response.audio.delta response.output_item.added'.split(' '),
];
const SCALARS: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1, -0, 1.5, 7, 1e9, 1e9 + 1, 2 ** 53, -(2 ** 53), 1e308, -1e308],
  ...['', '7', 'NaN', 'x'.repeat(200), '\u0000\ud800\u2028', '漢字', '[DONE]', DEEP],
];
/** Objects that a reader keeps parts of, and that random generation would rarely produce. */
const SHAPES: readonly object[] = [
  { type: 'response.created', response: { id: 'resp_1', created_at: DEEP, model: DEEP } },
  { type: 'response.created', response: { id: 'x'.repeat(3_000), created_at: 1, model: 'x'.repeat(3_000) } },
  { id: DEEP, object: DEEP, created: DEEP, model: DEEP, choices: [] },
  { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: '' }] },
  { choices: [-1, 1, 9, 1.5, '0', DEEP].map((index) => ({ index, delta: {}, finish_reason: 'stop' })) },
  { type: 'message_delta', delta: { stop_reason: '' } },
  { error: { message: 'see https://x.example', code: DEEP }, choices: DEEP },
  { type: 'response.failed', response: { id: 'resp_1', error: { message: 'sk-abcdefgh' }, output: DEEP } },
  { object: 'response', status: 'failed', error: { message: 'sk-abcdefgh' }, output: DEEP },
  { object: 'response', status: 'failed', error: { message: 'too hot' }, detail: DEEP },
];
/** Texts that affect the event splitter, and invalid JSON. */
const SPLICES = [
  ...['\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n', '\n'.repeat(300), ':', '"', '\\u', '}', '\ufeff', '\0'],
  ...['data: ', 'data:', 'event: error\n', 'event: message_stop\n', 'id: 1\nretry: 0\n', 'data: [DONE]\n\n'],
  ...['{"usage":{"prompt_tokens":1e999,"completion_tokens":1}}', '{"choices":' + '['.repeat(3_000), 'x'.repeat(3_000)],
];

/**
 * Returns a stream that no provider would send: a mutated valid stream, or bytes that are hardly a
 * stream.
 */
export function makeHostileStream(random: SeededRandom): HostileStream {
  const { format, bytes: sound, end, dropUsage } = generateStream(random);
  const events = Buffer.from(Array.from({ length: random.below(6) }, () => hostileEvent(random)).join(''));
  let bytes: Buffer = random.chance(0.5) ? Buffer.concat([sound, events]) : Buffer.concat([events, sound]);
  for (let times = random.below(4); times > 0; times -= 1)
    bytes = mutate(random, bytes, { splices: SPLICES, spanMax: 40 });
  return { format, bytes, chunks: cut(random, bytes), end, dropUsage };
}

/** Returns a body of random JSON, or of other bytes. */
export function hostilePlain(random: SeededRandom): Buffer {
  let bytes: Buffer = Buffer.from(written(random.chance(0.1) ? random.pick(SHAPES) : hostileValue(random, 6)));
  for (let times = random.below(3); times > 0; times -= 1)
    bytes = mutate(random, bytes, { splices: SPLICES, spanMax: 40 });
  return bytes;
}

function hostileEvent(random: SeededRandom): string {
  const event = random.chance(0.5) ? `event: ${random.pick(TYPES)}\n` : '';
  if (random.chance(0.2)) return `${event}data: ${written(random.pick(SHAPES))}\n\n`;
  const fields = hostileObject(random, 5);
  if (random.chance(0.7)) fields['type'] = random.pick(TYPES);
  return `${event}data: ${written(fields)}\n\n`;
}

function written(value: unknown): string {
  return (JSON.stringify(value) ?? '').replaceAll(JSON.stringify(DEEP), DEEP_JSON);
}

function hostileValue(random: SeededRandom, levels: number): unknown {
  const draw = random.next();
  if (levels === 0 || draw < 0.4) return random.pick(SCALARS);
  if (draw < 0.6) return Array.from({ length: random.below(4) }, () => hostileValue(random, levels - 1));
  return hostileObject(random, levels);
}

function hostileObject(random: SeededRandom, levels: number): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (let count = random.below(5); count > 0; count -= 1) {
    // An assignment to `__proto__` would change the prototype instead.
    Object.defineProperty(fields, random.pick(NAMES), {
      value: hostileValue(random, levels - 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return fields;
}

/** More chunks than this find little more. A longer stream usually gets larger ones. */
const CHUNKS_USUAL = 40;

function cut(random: SeededRandom, bytes: Buffer): Buffer[] {
  const least = random.chance(0.02) ? 1 : Math.ceil(bytes.length / CHUNKS_USUAL);
  return cutBytes(random, bytes, Math.max(least, random.pick([1, 5, 50, 500, bytes.length + 1])));
}
