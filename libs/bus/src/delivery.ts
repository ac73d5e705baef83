import type { Msg } from 'nats';
import type { StoredDelivery } from './bus.js';
import type { Link } from './connection.js';
import { NANOSECONDS_PER_MS } from './jetstream.js';

const ACKNOWLEDGED = Buffer.from('+ACK');
const IN_PROGRESS = Buffer.from('+WPI');

/** Where a delivered message stands: the tokens of its acknowledgement subject. */
export interface Place {
  consumer: string;
  deliveryCount: number;
  sequence: number;
  storedAtMs: number;
  /** Messages that the consumer has not delivered yet. */
  pending: number;
}

/**
 * Reads
 * `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<sequence>.<n>.<ns>.<pending>`,
 * with a random token behind it where there is a domain.
 */
export function placeOf(message: Msg): Place {
  const tokens = (message.reply ?? '').split('.');
  const at = tokens.length === 9 ? 4 : 6;
  return {
    consumer: tokens[at - 1] ?? '',
    deliveryCount: Number(tokens[at]),
    sequence: Number(tokens[at + 1]),
    storedAtMs: Math.floor(Number(tokens[at + 3]) / NANOSECONDS_PER_MS),
    pending: Number(tokens[at + 4]),
  };
}

/** A delivery and whether it was answered. */
export interface OpenDelivery {
  delivery: StoredDelivery;
  settled(): boolean;
  /** Tells the server that it is still worked on: the time to the next delivery starts anew. */
  extend(): void;
}

/** An acknowledgement that cannot be sent is left out: the message comes again. */
export function openDelivery(link: Link, message: Msg): OpenDelivery {
  const { deliveryCount, sequence, storedAtMs } = placeOf(message);
  let settled = false;
  const tell = (data: Uint8Array): void => {
    if (!link.connected()) return;
    try {
      message.respond(data);
    } catch (error) {
      link.log.warn({ error, sequence }, 'an acknowledgement was not sent');
    }
  };
  const answer = (data: Uint8Array): void => {
    if (settled) return;
    settled = true;
    tell(data);
  };
  const delivery: StoredDelivery = {
    data: message.data,
    subject: message.subject,
    sequence,
    storedAtMs,
    deliveryCount,
    ack: () => answer(ACKNOWLEDGED),
    retryAfter: (ms) => answer(Buffer.from(`-NAK ${JSON.stringify({ delay: Math.max(0, ms) * NANOSECONDS_PER_MS })}`)),
  };
  const extend = (): void => {
    if (!settled) tell(IN_PROGRESS);
  };
  return { delivery, settled: () => settled, extend };
}

/** A message that was only read: the consumer wants no acknowledgement. */
export function readDelivery(message: Msg): StoredDelivery {
  const { deliveryCount, sequence, storedAtMs } = placeOf(message);
  const { data, subject } = message;
  return { data, subject, sequence, storedAtMs, deliveryCount, ack: () => undefined, retryAfter: () => undefined };
}
