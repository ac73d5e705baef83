import { hash } from 'node:crypto';
import {
  compileCheck,
  objectId,
  requestId,
  usageEvent,
  type UsageEvent,
  usageRecorded,
} from '@gateway/contracts/messages';
import type { EventOrigin, DeadLetter, ReceivedEvent } from './rules.js';

export interface ReadDelivery {
  readonly received: readonly ReceivedEvent[];
  readonly deadLetters: readonly DeadLetter[];
}

/** Characters of a problem's text that are kept. */
const PROBLEM_CHARS_MAX = 300;

const hasForm = compileCheck(usageEvent);

/**
 * Reads the events of a stored message. One that is not in the form of the contract is set aside
 * alone, with its id and account when these can be read, and the others go on. Never throws.
 */
export function readDelivery(data: Uint8Array, origin: EventOrigin): ReadDelivery {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8');
  const events = eventsOf(parse(text));
  if (events === null)
    return {
      received: [],
      deadLetters: [unreadable(Buffer.from(data), null, origin, 'not a message of usage events')],
    };
  const texts = eventTexts(text, events);
  const received: ReceivedEvent[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const [index, item] of events.entries()) {
    if (hasForm(item))
      received.push({ event: item as UsageEvent, contentHash: contentHashOf(item, texts?.[index]), origin });
    else deadLetters.push(unreadable(bytesOf(item), item, origin, problemOf(item)));
  }
  return { received, deadLetters };
}

/** An accepted event; `sent` is the same before its validation. */
export function receivedEventOf(event: UsageEvent, sent: unknown, origin: EventOrigin): ReceivedEvent {
  return { event, contentHash: contentHashOf(sent), origin };
}

/**
 * Over the event as it was sent, so that the hash outlives changes of the contract: an event's
 * bytes are frozen by its sender. The end of an expired call is the moment at which some replica's
 * sweep found it; two sweeps of one call say the same.
 */
function contentHashOf(sent: unknown, text?: string): string {
  const { outcome } = sent as UsageEvent;
  if (outcome === 'expired') return sha256(JSON.stringify({ ...(sent as UsageEvent), endedAt: null }));
  return sha256(text ?? JSON.stringify(sent));
}

/**
 * How a message begins, where one event ends and the next one begins, and how the message ends, as
 * all senders write them.
 */
const EVENTS_BEGIN = '[{"id":"';
const NEXT_EVENT = '},{"id":"';
const EVENTS_END = '}]';
/** Digits of a UUID with its dashes. */
const ID_CHARS = 36;

/**
 * The events as they stand in a message that was written by `JSON.stringify`: the same texts as
 * writing them again would give, at a tenth of the cost. Null: the message is in another form. A
 * quotation mark inside of a text has a backslash before it, so nothing within a text looks like
 * the beginning of an event; whatever else does makes the numbers or ids differ.
 */
function eventTexts(text: string, events: readonly unknown[]): string[] | null {
  const end = text.lastIndexOf(EVENTS_END) + 1;
  if (!/^\]\}$|^\],"v":\d+\}$/.test(text.slice(end, end + 20))) return null;
  const texts: string[] = [];
  for (let start = text.indexOf(EVENTS_BEGIN) + 1; start > 0 && start < end;) {
    const next = text.indexOf(NEXT_EVENT, start);
    const stop = next === -1 ? end : next + 1;
    texts.push(text.slice(start, stop));
    start = stop === end ? end : stop + 1;
  }
  const idAt = EVENTS_BEGIN.length - 1;
  const fits = texts.every((one, index) => one.slice(idAt, idAt + ID_CHARS) === property(events[index], 'id'));
  return texts.length === events.length && fits ? texts : null;
}

function sha256(data: string | Buffer): string {
  return hash('sha256', data, 'hex');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function eventsOf(body: unknown): readonly unknown[] | null {
  if (typeof body !== 'object' || body === null || !('events' in body) || !('v' in body)) return null;
  return body.v === usageRecorded.version && Array.isArray(body.events) ? body.events : null;
}

function unreadable(bytes: Buffer, item: unknown, origin: EventOrigin, detail: string): DeadLetter {
  const id = requestId.safeParse(property(item, 'id'));
  const account = objectId.safeParse(property(property(item, 'hold'), 'account'));
  return {
    contentHash: sha256(bytes),
    requestId: id.success ? id.data : null,
    account: account.success ? account.data : null,
    origin,
    reason: 'unreadable',
    detail,
    event: bytes,
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function bytesOf(item: unknown): Buffer {
  return Buffer.from(JSON.stringify(item) ?? 'null', 'utf8');
}

/** In the words of the schema, which says the same as the check. */
function problemOf(item: unknown): string {
  const issues = usageEvent.safeParse(item).error?.issues ?? [];
  const text = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; ');
  return text.slice(0, PROBLEM_CHARS_MAX);
}
