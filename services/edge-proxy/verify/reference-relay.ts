import type { GeneratedStream, StreamFormat, Usage } from './generate-stream.js';

/** One event as the reference parser finds it. */
interface ReferenceEvent {
  /** From the end of the previous event to the end of this event's blank line. */
  readonly text: string;
  readonly event: string | null;
  readonly data: string | null;
}

/** The expected result of a stream. */
export interface Expected {
  /** All bytes that the client receives, in order, up to the event of the final marker. */
  readonly passed: string;
  /** The events after the final marker, and at a proper end also the trailing bytes. */
  readonly following: string;
  /**
   * `unusable`: there was no event. `unfinished`: a proper end without final marker and finish
   * reason. `replaced`: an error of the gateway follows the beginning of a response. `refused`: an
   * error of the gateway is sent instead of a response.
   */
  readonly ended: 'complete' | 'unfinished' | 'cut_by_provider' | 'replaced' | 'refused' | 'cut' | 'left' | 'unusable';
  /** Where the final marker's event begins in `passed`, or null if there was none. */
  readonly finalAt: number | null;
  readonly usage: Usage | null;
  /** Whether text follows the last count of the output, which is then only a lower bound. */
  readonly isRunning: boolean;
  /** UTF-8 bytes of generated text. */
  readonly textBytes: number;
}

/**
 * Reads a complete stream in the simplest way: the whole text at once, split by regular
 * expressions, without state between chunks. It follows the standard for server-sent events and the
 * rules of docs/behaviour.md#answers, independently of the relay's code.
 */
export function parseStream({ bytes, format, end, dropUsage }: GeneratedStream): Expected {
  const { sseEvents, rest } = splitEvents(bytes.toString('utf8'));
  const seen = end === 'proper' && rest !== '' ? [...sseEvents, readSseEvent(rest)] : sseEvents;
  let passed = '';
  let usage: Usage | null = null;
  let textBytes = 0;
  let countedBytes = 0;
  let [hasEvent, hasAnswer, isFinished, hasChoice] = [false, false, false, format !== 'chat'];
  const expect = (ended: Expected['ended'], more: Partial<Expected> = {}): Expected => {
    // A message reports its usage together with its stop reason.
    const isRunning = format !== 'message' && usage !== null && textBytes > countedBytes;
    return { passed, following: '', ended, finalAt: null, usage, isRunning, textBytes, ...more };
  };
  for (const [index, sseEvent] of seen.entries()) {
    const meaning = meaningOf(format, sseEvent);
    const { role } = meaning;
    hasChoice ||= meaning.hasChoice;
    const isNoAnswer = role === 'final' && !hasChoice;
    if (isNoAnswer || role === 'error') usage = best(usage, meaning.usage);
    if (isNoAnswer || (role === 'error' && (format === 'message' || !hasAnswer)))
      return hasAnswer ? expect('replaced') : expect('refused', { passed: '' });
    isFinished ||= meaning.finishes;
    usage = best(usage, meaning.usage);
    textBytes += Buffer.byteLength(meaning.text);
    if (meaning.usage !== null) countedBytes = textBytes;
    // An incomplete event at the end of an unfinished stream is not sent.
    const isHalf = index === sseEvents.length;
    if (isHalf && !isFinished && role !== 'final' && role !== 'error') break;
    hasEvent ||= sseEvent.data !== null;
    hasAnswer ||= showsAnswer(format, sseEvent);
    if (role === 'extra_usage' && dropUsage) continue;
    const finalAt = passed.length;
    passed += sseEvent.text;
    const following = (): string => seen.slice(index + 1).reduce((texts, { text }) => texts + text, '');
    if (role === 'final') return expect('complete', { following: following(), finalAt });
    if (role === 'error') return expect('cut_by_provider');
  }
  const properly = !hasEvent ? 'unusable' : isFinished ? 'complete' : 'unfinished';
  const ended = end === 'proper' ? properly : end;
  // Before an event that shows an answer nothing is sent, unless the stream is complete without
  // one.
  return hasAnswer || (hasEvent && ended === 'complete') ? expect(ended) : expect(ended, { passed: '' });
}

/** Returns whether an event has text or ends the response. */
export function showsAnswer(format: StreamFormat, sseEvent: ReferenceEvent): boolean {
  const { role, text, finishes } = meaningOf(format, sseEvent);
  return text !== '' || finishes || role === 'final';
}

/** Returns the larger of each count. */
function best(before: Usage | null, later: Usage | null): Usage | null {
  if (before === null || later === null) return later ?? before;
  return { input: Math.max(before.input, later.input), output: Math.max(before.output, later.output) };
}

/** Returns the complete events of a text, and the bytes after the last of them. */
export function splitEvents(text: string): { sseEvents: ReferenceEvent[]; rest: string } {
  const sseEvents: ReferenceEvent[] = [];
  let from = 0;
  let lineIsEmpty = true;
  for (const { 0: match, index } of text.matchAll(/\r\n|\r|\n|[^\r\n]+/g)) {
    const isLineEnd = match[0] === '\r' || match[0] === '\n';
    if (!isLineEnd) {
      lineIsEmpty = match === '\ufeff' && index === 0;
      continue;
    }
    if (lineIsEmpty) {
      sseEvents.push(readSseEvent(text.slice(from, index + match.length)));
      from = index + match.length;
    }
    lineIsEmpty = true;
  }
  return { sseEvents, rest: text.slice(from) };
}

function readSseEvent(text: string): ReferenceEvent {
  let event: string | null = null;
  const data: string[] = [];
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') event = value ?? '';
    if (name === 'data') data.push(value ?? '');
  }
  return { text, event, data: data.length === 0 ? null : data.join('\n') };
}

interface Meaning {
  readonly role: 'final' | 'error' | 'extra_usage' | 'other';
  readonly usage: Usage | null;
  readonly text: string;
  /** Whether it contains a finish reason. */
  readonly finishes: boolean;
  readonly hasChoice: boolean;
}

const NONE: Meaning = { role: 'other', usage: null, text: '', finishes: false, hasChoice: false };

function meaningOf(format: StreamFormat, { data }: ReferenceEvent): Meaning {
  if (data === null) return NONE;
  if (format === 'chat' && data.trim() === '[DONE]') return { ...NONE, role: 'final' };
  let json: Json;
  try {
    json = (JSON.parse(data) ?? {}) as Json;
  } catch {
    return NONE;
  }
  if (json.error || json.type === 'error') return { ...NONE, role: 'error' };
  const found = json.usage ?? json.response?.usage;
  const usage = found && {
    input: found.prompt_tokens ?? found.input_tokens ?? 0,
    output: found.completion_tokens ?? found.output_tokens ?? 0,
  };
  const delta = typeof json.delta === 'string' ? json.delta : json.delta?.text;
  const text = delta ?? json.choices?.[0]?.delta?.content ?? '';
  const isFinal = json.type === 'message_stop' || json.type === 'response.completed';
  const hasChoice = (json.choices?.length ?? 0) > 0;
  const isExtra = json.choices?.length === 0 && usage !== undefined;
  const reason = typeof json.delta === 'object' ? json.delta.stop_reason : json.choices?.[0]?.finish_reason;
  const finishes = typeof reason === 'string' && !['', 'null'].includes(reason);
  const role = isFinal ? 'final' : isExtra ? 'extra_usage' : 'other';
  return { role, usage: usage ?? null, text, finishes, hasChoice };
}

/** The members that generated events have. */
interface Json {
  readonly type?: string;
  readonly error?: object;
  readonly usage?: Counts;
  readonly response?: { readonly usage?: Counts };
  readonly delta?: string | { readonly text?: string; readonly stop_reason?: string };
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string };
    readonly finish_reason?: string | null;
  }[];
}

interface Counts {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
}
