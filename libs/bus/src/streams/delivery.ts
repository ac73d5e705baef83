import type { Msg } from 'nats';
import type { StoredDelivery } from '../bus.js';
import type { Link } from '../connection.js';
import { NANOSECONDS_PER_MS } from './jetstream.js';

const ACKNOWLEDGED = Buffer.from('+ACK');
const IN_PROGRESS = Buffer.from('+WPI');

/** Position and counters of a delivered message, read from its acknowledgement subject. */
export interface DeliveryInfo {
  consumer: string;
  deliveryCount: number;
  sequence: number;
  storedAtMs: number;
  /** Messages that the consumer has not delivered yet. */
  pending: number;
}

/**
 * Parses
 * `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<deliveries>.<sequence>.<n>.<ns>.<pending>`.
 * With a domain a random token follows.
 */
export function parseDeliveryInfo(message: Msg): DeliveryInfo {
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

/** A delivery and whether it was acknowledged. */
export interface PendingDelivery {
  delivery: StoredDelivery;
  settled(): boolean;
  /** Reports that the delivery is still in work: the time until the next delivery restarts. */
  extend(): void;
}

/** Skips an acknowledgement that cannot be sent: the server then delivers the message again. */
export function openDelivery(link: Link, message: Msg): PendingDelivery {
  const { deliveryCount, sequence, storedAtMs } = parseDeliveryInfo(message);
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

/** Returns a delivery that was only read: its consumer expects no acknowledgement. */
export function readDelivery(message: Msg): StoredDelivery {
  const { deliveryCount, sequence, storedAtMs } = parseDeliveryInfo(message);
  const { data, subject } = message;
  return { data, subject, sequence, storedAtMs, deliveryCount, ack: () => undefined, retryAfter: () => undefined };
}
