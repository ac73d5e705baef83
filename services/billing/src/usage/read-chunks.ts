import type { SettledMessage } from './progress-store.js';
import { readDelivery } from './read-delivery.js';
import type { DeadLetter, ReceivedEvent } from './rules.js';
import type { UsageBatch } from './settle-batch.js';

/** A stored message from the bus. */
export interface UsageDelivery {
  readonly data: Uint8Array;
  readonly sequence: number;
  readonly storedAtMs: number;
  ack(): void;
  retryAfter(ms: number): void;
}

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
