import { billingBalanceSnapshots, type BalanceSnapshot, usageEvents, usageSubjects } from '@gateway/contracts/messages';
import { USAGE_GROUPS_TOTAL } from '@gateway/contracts/ids';
import { type Bus, BusFault, type StoredDelivery } from '@gateway/bus';
import { gauge } from '@gateway/service-kit';
import type { StreamState } from './progress-rules.js';

export interface Stream {
  state(): Promise<StreamState>;
  trim(upToSequence: number): Promise<void>;
}

/** A stored message that the bus delivers. */
export interface UsageDelivery {
  readonly data: Uint8Array;
  readonly sequence: number;
  readonly storedAtMs: number;
  ack(): void;
  retryAfter(ms: number): void;
}

/** A message of the stream with its position. */
export interface StreamMessage {
  readonly sequence: number;
  readonly subject: number;
  readonly data: Uint8Array;
  readonly storedAtMs: number;
}

/** Reads the stream without consuming it. */
export interface StreamReader {
  state(): Promise<StreamState>;
  /** For each subject, the position up to which all messages are acknowledged. */
  acknowledged(): Promise<readonly number[]>;
  /** Returns the message at the position, or the first one of the subject from there on. */
  message(sequence: number, subject?: number): Promise<StreamMessage | null>;
}

export interface SnapshotPublisher {
  /** Returns false if nothing was sent because the bus is disconnected. */
  snapshots(accounts: BalanceSnapshot[]): boolean;
}

/** Maximum age of a message; settled messages are trimmed earlier (docs/protocol.md#r15). */
const AGE_MAX_MS = 14 * 24 * 3_600_000;
/** Maximum of unacknowledged messages of one subject, over all replicas. */
const ACK_PENDING_MAX = 1_000;
/** Time after which the messages of a killed worker are delivered again. */
const ACK_WAIT_MS = 5_000;
/**
 * Minimum time between the starts of two batches: a transaction is a dozen statements and a commit,
 * for one event as for fifty. The time must be far below `CATCH_UP_MS`, because a load after a loss
 * waits at most that long for the stream to be settled (docs/protocol.md#r11). Until the charge is
 * known, the call's hold remains.
 */
const COLLECT_MS = 250;
/**
 * About 500 events. Larger batches are not cheaper per event, so the next batch starts immediately
 * after a batch of this size.
 */
const COLLECT_BYTES = 256 * 1024;
/** Messages per batch, each with up to 100 events and 256 KiB; as many are prefetched. */
const BATCH_MESSAGES_MAX = 250;

/** The stream of usage events, which billing creates, consumes and trims. */
export interface UsageStream extends Stream, StreamReader {
  ensure(): Promise<void>;
  /** Only the owner of the subject should call this; two owners are slower but also correct. */
  consume(subject: number, handler: (batch: StoredDelivery[]) => Promise<void>): { stop(): Promise<void> };
}

/**
 * Creates the stream client. The consumers are named by the epoch of the last restore, so a
 * restored ledger begins at the first stored message (docs/protocol.md#r17).
 */
export function createUsageStream(
  bus: Bus,
  bytesMax: number,
  replicas: number,
  consumers: string,
  groups = USAGE_GROUPS_TOTAL,
): UsageStream {
  const { stream } = usageEvents;

  // The stream has only these subjects, and each has a consumer. So the sequences have no gaps when
  // everything is settled.
  const subjects = usageSubjects(groups);

  let bytesStored = 0;
  gauge('gateway_billing_stream_bytes', 'Bytes of usage events in the stream', () => bytesStored);
  gauge('gateway_billing_stream_max_bytes', 'Maximum bytes of usage events in the stream', () => bytesMax);

  const ensure = (): Promise<void> =>
    bus.ensureStream({
      stream,
      subjects,
      discard: 'new',
      bytesMax,
      ageMaxMs: AGE_MAX_MS,
      // Repetitions are recognized by their IDs without a time limit, so the stream's own check is
      // not needed; JetStream does not allow 0.
      duplicateWindowMs: 1_000,
      replicas,
    });

  const durableOf = (subject: number): string => `billing-${subject}-${consumers}`;
  return {
    ensure,
    async state() {
      const state = await bus.streamState(stream).catch(async (error: unknown) => {
        if (!(error instanceof BusFault) || error.code !== 'stream_missing') throw error;
        await ensure();
        return bus.streamState(stream);
      });
      const { firstSequence, lastSequence, firstAt, lastAt, bytes } = state;
      bytesStored = bytes;
      return { firstSequence, lastSequence, firstAtMs: firstAt, lastAtMs: lastAt, filled: bytes / bytesMax };
    },
    acknowledged: () => Promise.all(subjects.map((_, subject) => bus.ackFloor(stream, durableOf(subject)))),
    async message(sequence, subject) {
      const found = await bus.storedMessage(stream, sequence, subject === undefined ? undefined : subjects[subject]);
      return found === null ? null : { ...found, subject: subjects.indexOf(found.subject) };
    },
    trim: (upToSequence) => bus.purgeStream(stream, upToSequence),
    consume: (subject, handler) =>
      bus.consume({
        stream,
        durable: durableOf(subject),
        filterSubject: String(subjects[subject]),
        batchMax: BATCH_MESSAGES_MAX,
        maxAckPending: ACK_PENDING_MAX,
        ackWaitMs: ACK_WAIT_MS,
        collectMs: COLLECT_MS,
        collectBytes: COLLECT_BYTES,
        handler,
      }),
  };
}

/** Publishes balance snapshots under the current ledger epoch. */
export function createSnapshotPublisher(bus: Bus, ledgerEpoch: () => string): SnapshotPublisher {
  return {
    snapshots: (accounts) => bus.publish(billingBalanceSnapshots, {}, { ledgerEpoch: ledgerEpoch(), accounts }),
  };
}
