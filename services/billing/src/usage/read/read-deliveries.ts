import { hash } from 'node:crypto';
import {
  type UsageEvent,
  compileCheck,
  objectId,
  requestId,
  unpackEvent,
  usageEvent,
  usageEvents,
} from '@gateway/contracts/messages';
import type { SettledMessage } from '../../stream/progress-rules.js';
import type { UsageDelivery } from '../../stream/stream.js';
import type { DeadLetter, EventOrigin, ReceivedEvent, UsageBatch } from '../rules.js';

/** Complete messages that are settled together. */
export interface Chunk {
  readonly batch: UsageBatch;
  readonly deliveries: readonly UsageDelivery[];
}

/**
 * Reads deliveries into chunks of at most `eventsMax` events, or of one message. After the first
 * chunk it yields to the event loop between messages, so that the database results of the previous
 * chunk are processed.
 */
export async function* readChunks(
  deliveries: readonly UsageDelivery[],
  subject: number,
  eventsMax: number,
): AsyncGenerator<Chunk> {
  let chunk = new ChunkBuilder();
  let isBeyondFirst = false;
  for (const delivery of deliveries) {
    if (isBeyondFirst) await new Promise((resolve) => void setImmediate(resolve));
    const { received, deadLetters } = readDelivery(delivery.data, { subject, sequence: delivery.sequence });
    if (chunk.deliveries.length > 0 && chunk.events + received.length + deadLetters.length > eventsMax) {
      yield chunk;
      chunk = new ChunkBuilder();
      isBeyondFirst = true;
    }
    chunk.add(delivery, received, deadLetters);
  }
  if (chunk.deliveries.length > 0) yield chunk;
}

class ChunkBuilder implements Chunk {
  readonly deliveries: UsageDelivery[] = [];
  readonly batch = {
    received: [] as ReceivedEvent[],
    deadLetters: [] as DeadLetter[],
    applied: [] as SettledMessage[],
  };

  get events(): number {
    return this.batch.received.length + this.batch.deadLetters.length;
  }

  add(delivery: UsageDelivery, received: readonly ReceivedEvent[], deadLetters: readonly DeadLetter[]): void {
    const { sequence, storedAtMs } = delivery;
    this.batch.received.push(...received);
    this.batch.deadLetters.push(...deadLetters);
    this.batch.applied.push({ sequence, storedAtMs });
    this.deliveries.push(delivery);
  }
}

export interface ReadDelivery {
  readonly received: readonly ReceivedEvent[];
  readonly deadLetters: readonly DeadLetter[];
}

/** Maximum length of a stored problem text. */
const PROBLEM_CHARS_MAX = 300;

const hasForm = compileCheck(usageEvent);

/**
 * Reads the events of a stored message. An event that does not match the contract becomes a dead
 * letter on its own, with its ID and account if they are readable. Never throws.
 */
export function readDelivery(data: Uint8Array, origin: EventOrigin): ReadDelivery {
  const events = parseEvents(parseJson(data));
  if (events === null) {
    const deadLetter = buildUnreadable(Buffer.from(data), null, origin, 'not a message of usage events');
    return { received: [], deadLetters: [deadLetter] };
  }
  return readEvents(events, origin);
}

/** Reads the packed events of a message. Never throws. */
export function readEvents(events: readonly unknown[], origin: EventOrigin): ReadDelivery {
  const received: ReceivedEvent[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const sent of events) {
    const event = unpackEvent(sent);
    if (hasForm(event)) received.push(buildReceivedEvent(event as UsageEvent, sent, origin));
    else deadLetters.push(buildUnreadable(encodeJson(sent), event, origin, findProblem(event)));
  }
  return { received, deadLetters };
}

/** Builds an accepted event; `sent` is the packed event. */
export function buildReceivedEvent(event: UsageEvent, sent: unknown, origin: EventOrigin): ReceivedEvent {
  return { event, sent, contentHash: computeContentHash(event, sent), origin };
}

/**
 * Hashes the event as it was sent, so that the hash survives changes of the contract. The sender
 * never changes an event, and JSON.stringify restores the parsed bytes. For an expired call the
 * hash omits the end time, which is the time of the sweep, so that two sweeps produce the same
 * hash.
 */
function computeContentHash(event: UsageEvent, sent: unknown): string {
  return sha256(JSON.stringify(event.outcome === 'expired' ? { ...event, endedAt: null } : sent));
}

function sha256(data: string | Buffer): string {
  return hash('sha256', data, 'hex');
}

/** Returns null for invalid JSON. */
export function parseJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return null;
  }
}

function parseEvents(body: unknown): readonly unknown[] | null {
  return Array.isArray(body) && body[0] === usageEvents.version && Array.isArray(body[1]) ? body[1] : null;
}

function buildUnreadable(bytes: Buffer, item: unknown, origin: EventOrigin, detail: string): DeadLetter {
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

function encodeJson(item: unknown): Buffer {
  return Buffer.from(JSON.stringify(item) ?? 'null', 'utf8');
}

/** Returns the schema's messages; the schema and the compiled check are equivalent. */
function findProblem(item: unknown): string {
  const issues = usageEvent.safeParse(item).error?.issues ?? [];
  const text = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; ');
  return text.slice(0, PROBLEM_CHARS_MAX);
}
