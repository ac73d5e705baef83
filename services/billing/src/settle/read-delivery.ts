import { hash } from 'node:crypto';
import { objectId, requestId, usageEvent, usageRecorded, type UsageEvent } from '@gateway/contracts/messages';
import type { EventOrigin, SetAside, UsageFact } from '../domain/facts.js';

export interface ReadDelivery {
  readonly facts: readonly UsageFact[];
  readonly setAside: readonly SetAside[];
}

/** Characters of a problem's text that are kept. */
const PROBLEM_CHARS_MAX = 300;

/**
 * Reads the events of a stored message. One that is not in the form of the contract is set aside alone, with its id and
 * account when these can be read, and the others go on. Never throws.
 */
export function readDelivery(data: Uint8Array, origin: EventOrigin): ReadDelivery {
  const body = parse(data);
  const events = eventsOf(body);
  if (events === null)
    return { facts: [], setAside: [unreadable(Buffer.from(data), null, origin, 'not a message of usage events')] };
  const facts: UsageFact[] = [];
  const setAside: SetAside[] = [];
  for (const item of events) {
    const result = usageEvent.safeParse(item);
    if (result.success) facts.push(factOf(result.data, item, origin));
    else setAside.push(unreadable(bytesOf(item), item, origin, problemText(result.error.issues)));
  }
  return { facts, setAside };
}

/** An accepted event; `sent` is the same before its validation. */
export function factOf(event: UsageEvent, sent: unknown, origin: EventOrigin): UsageFact {
  return { event, contentHash: contentHashOf(event, sent), origin };
}

/**
 * Over the event as it was sent, so that the hash outlives changes of the contract: an event's bytes are frozen by its sender.
 * The end of an expired call is the moment at which some replica's sweep found it; two sweeps of one call say the same.
 */
function contentHashOf(event: UsageEvent, sent: unknown): string {
  return sha256(JSON.stringify(event.outcome === 'expired' ? { ...(sent as UsageEvent), endedAt: null } : sent));
}

function sha256(data: string | Buffer): string {
  return hash('sha256', data, 'hex');
}

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return null;
  }
}

function eventsOf(body: unknown): readonly unknown[] | null {
  if (typeof body !== 'object' || body === null || !('events' in body) || !('v' in body)) return null;
  return body.v === usageRecorded.version && Array.isArray(body.events) ? body.events : null;
}

function unreadable(bytes: Buffer, item: unknown, origin: EventOrigin, detail: string): SetAside {
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

function problemText(issues: readonly { path: readonly PropertyKey[]; message: string }[]): string {
  const text = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`).join('; ');
  return text.slice(0, PROBLEM_CHARS_MAX);
}
