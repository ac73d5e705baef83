import type { SeededRandom } from '@gateway/testkit/random';
import { cutBytes } from './random-cases.js';

/** The role of a generated event for the gateway. */
type EventRole = 'comment' | 'text' | 'usage' | 'extra_usage' | 'error' | 'final' | 'noise';

export type StreamFormat = 'chat' | 'message' | 'response';

export interface Usage {
  readonly input: number;
  readonly output: number;
}

export interface GeneratedStream {
  readonly format: StreamFormat;
  /** The events as they are sent, and the bytes after the last blank line. */
  readonly parts: readonly string[];
  readonly bytes: Buffer;
  readonly chunks: readonly Buffer[];
  /** How it ends: properly by HTTP, broken by the network, or aborted by its client. */
  readonly end: 'proper' | 'cut' | 'left';
  /** Whether only the gateway, and not the client, requested the usage chunk. */
  readonly dropUsage: boolean;
}

const TEXTS = [
  ...['', ...'a Hello 漢字 👩‍👩‍👧 {"a":1} [DONE]'.split(' '), ' wörld', '\u2028', 'line\nline', '\ud83d\ude00 ok'],
  'x'.repeat(300),
];
const NOISE = 'data: {"oops|data|data: 17|data: null|data: []|id: 7|retry: 100|datas: x|event|event: ping'.split('|');
/** Values that providers send in an event that does not end the response. */
const NO_REASONS = [null, null, '', 'null'];
const COMMENTS = [':', ': keep-alive', ':data: {"x":1}', ': [DONE]', ': ünïcode'];
const LINE_ENDS = ['\n', '\r\n', '\r'] as const;

/** Returns a stream in one of the formats, split into chunks at random positions. */
export function generateStream(random: SeededRandom): GeneratedStream {
  const format = random.pick(['chat', 'message', 'response'] as const);
  const mixed = random.chance(0.15);
  const usual = random.pick(LINE_ENDS);
  const lineEnd = (): string => (mixed ? random.pick(LINE_ENDS) : usual);
  const events: string[] = [];
  for (const role of rolesOf(random, format))
    events.push(eventOf(random, format, role, lineEnd, events.at(-1)?.endsWith('\r') ?? false));
  const rest = random.chance(0.15) ? random.pick(['data: {"cut', ': half', 'da', 'event: x\n', 'data: 1\r\n']) : '';
  const parts = [...events, rest];
  // Not before an empty line: the relay treats both as one line, which changes no event.
  if (random.chance(0.05) && !/^[\r\n]/.test(parts[0] ?? '')) parts[0] = `\ufeff${parts[0]}`;
  const bytes = Buffer.from(parts.join(''));
  return {
    format,
    parts,
    bytes,
    chunks: cutBytes(random, bytes, random.pick([1, 2, 3, 7, 30, 200, 1_000, bytes.length + 1])),
    end: random.pick(['proper', 'proper', 'proper', 'cut', 'left'] as const),
    dropUsage: format === 'chat' && random.chance(0.5),
  };
}

function rolesOf(random: SeededRandom, format: StreamFormat): EventRole[] {
  const roles: EventRole[] = [];
  const count = random.below(12);
  for (let at = 0; at < count; at += 1) {
    const draw = random.next();
    roles.push(draw < 0.7 ? 'text' : draw < 0.8 ? 'comment' : draw < 0.9 ? 'noise' : draw < 0.97 ? 'usage' : 'error');
  }
  if (format === 'chat' && random.chance(0.5)) roles.push('extra_usage');
  if (random.chance(0.7)) roles.push('final');
  for (let count = random.chance(0.2) ? 1 + random.below(3) : 0; count > 0; count -= 1) {
    roles.push(random.pick(['comment', 'text', 'noise', 'final'] as const));
  }
  return roles;
}

/** @param isAfterCr whether the previous event ends with a CR */
function eventOf(
  random: SeededRandom,
  format: StreamFormat,
  role: EventRole,
  lineEnd: () => string,
  isAfterCr: boolean,
): string {
  const lines = linesOf(random, format, role);
  if (role !== 'noise' && random.chance(0.1)) lines.splice(random.below(lines.length + 1), 0, random.pick(COMMENTS));
  if (role !== 'noise' && random.chance(0.05)) lines.push('id: 1');
  const wire = lines.map((line) => line + lineEnd()).join('');
  // A CR and the LF of an empty line would be one line end.
  const end = lineEnd();
  return wire + (end === '\n' && (wire === '' ? isAfterCr : wire.endsWith('\r')) ? '\r' : end);
}

function linesOf(random: SeededRandom, format: StreamFormat, role: EventRole): string[] {
  if (role === 'comment') return [random.pick(COMMENTS)];
  if (role === 'noise') return random.chance(0.1) ? [] : [random.pick(NOISE)];
  const usage = { input: random.below(100_000), output: random.below(100_000) };
  return FORMATS[format](random, role, random.pick(TEXTS), usage);
}

type DataRole = Exclude<EventRole, 'comment' | 'noise'>;

const FORMATS: Record<StreamFormat, (random: SeededRandom, role: DataRole, text: string, usage: Usage) => string[]> = {
  chat(random, role, text, { input, output }) {
    if (role === 'final') return [random.pick(['data: [DONE]', 'data:[DONE]', 'data: [DONE] '])];
    const usage = { prompt_tokens: input, completion_tokens: output };
    const delta = { content: text };
    return dataLines(
      random,
      {
        text: { choices: [{ index: 0, delta, finish_reason: random.pick(NO_REASONS) }] },
        usage: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
        extra_usage: { choices: [], usage },
        error: { error: { message: 'overloaded' } },
      }[role],
    );
  },
  message(random, role, text, { input, output }) {
    const counted = { delta: { stop_reason: 'end_turn' }, usage: { input_tokens: input, output_tokens: output } };
    return namedLines(
      random,
      {
        text: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
        usage: { type: 'message_delta', ...counted },
        extra_usage: { type: 'message_delta', ...counted },
        error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        final: { type: 'message_stop' },
      }[role],
    );
  },
  response(random, role, text, { input, output }) {
    const response = { id: 'resp_1', usage: { input_tokens: input, output_tokens: output } };
    return namedLines(
      random,
      {
        text: { type: 'response.output_text.delta', sequence_number: 1, delta: text },
        usage: { type: 'response.in_progress', sequence_number: 2, response },
        extra_usage: { type: 'response.in_progress', sequence_number: 2, response },
        error: { type: 'error', code: 'server_error', message: 'overloaded' },
        final: { type: 'response.completed', sequence_number: 3, response },
      }[role],
    );
  },
};

function namedLines<T extends { readonly type: string }>(random: SeededRandom, value: T): string[] {
  return [`event: ${value.type}`, ...dataLines(random, value)];
}

/** Returns the JSON in one data line, or split into several where a line break has no effect. */
function dataLines(random: SeededRandom, value: object): string[] {
  const json = JSON.stringify(value);
  if (!random.chance(0.15)) return [random.chance(0.5) ? `data: ${json}` : `data:${json}`];
  return JSON.stringify(value, null, 1)
    .split('\n')
    .map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}`);
}
