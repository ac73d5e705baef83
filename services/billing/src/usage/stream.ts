import { billingBalanceSnapshots, type BalanceSnapshot, usageEvents, usageSubjects } from '@gateway/contracts/messages';
import { USAGE_GROUPS_TOTAL } from '@gateway/contracts/ids';
import { type Bus, BusFault, type StoredDelivery } from '@gateway/bus';
import { gauge } from '@gateway/service-kit';
import type { LostCommitsDeps } from './check-ledger.js';
import type { StreamState } from './progress-rules.js';

export interface Stream {
  state(): Promise<StreamState>;
  trim(upToSequence: number): Promise<void>;
}

export interface SnapshotPublisher {
  /** False: not sent, because the bus is disconnected. */
  snapshots(accounts: BalanceSnapshot[]): boolean;
}

/**
 * How long a message is kept at most; trimmed earlier once it is settled (docs/protocol.md#r15).
 */
const AGE_MAX_MS = 14 * 24 * 3_600_000;
/** Unacknowledged messages of one subject, of all replicas together. */
const ACK_PENDING_MAX = 1_000;
/** A killed worker's messages are delivered again after this. */
const ACK_WAIT_MS = 5_000;
/**
 * Batches begin at the earliest so far apart: a transaction is a dozen statements and a commit, for
 * one event as for fifty. A call's hold stays until its charge is known. A load after a loss waits
 * for the stream to be settled, at most `CATCH_UP_MS` (docs/protocol.md#r11), so it must be well
 * below that.
 */
const COLLECT_MS = 250;
/**
 * About 500 events: more at once make none of them cheaper, so nothing waits after a batch of so
 * many.
 */
const COLLECT_BYTES = 256 * 1024;
/**
 * Messages handed over at once, as many again are read ahead; a message holds up to 100 events and
 * 256 KiB.
 */
const BATCH_MESSAGES_MAX = 250;

/** The stream of usage events, which billing owns: it makes, consumes and trims it. */
export interface UsageStream extends Stream, Pick<LostCommitsDeps['stream'], 'acknowledged' | 'message'> {
  ensure(): Promise<void>;
  /** Only the owner of the subject calls it; two owners are slower and no less right. */
  consume(subject: number, handler: (batch: StoredDelivery[]) => Promise<void>): { stop(): Promise<void> };
}

/**
 * Consumers are named by the epoch of the last restore: a restored ledger begins with the first
 * message that is stored (docs/protocol.md#r17).
 */
export function createUsageStream(
  bus: Bus,
  bytesMax: number,
  replicas: number,
  consumers: string,
  groups = USAGE_GROUPS_TOTAL,
): UsageStream {
  const { stream } = usageEvents;

  // These subjects and no others, and each has a consumer, so that sequences have no gaps when all
  // is settled.
  const subjects = usageSubjects(groups);

  let bytesStored = 0;
  gauge('gateway_billing_stream_bytes', 'Bytes of usage events that the stream has', () => bytesStored);
  gauge('gateway_billing_stream_bytes_max', 'Bytes of usage events that the stream may have', () => bytesMax);

  const ensure = (): Promise<void> =>
    bus.ensureStream({
      stream,
      subjects,
      discard: 'new',
      bytesMax,
      ageMaxMs: AGE_MAX_MS,
      // Repetitions are known by their ids for ever, not by the stream for minutes; JetStream has
      // no zero.
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

/** Publishes balance snapshots under the epoch of this ledger. */
export function createSnapshotPublisher(bus: Bus, ledgerEpoch: () => string): SnapshotPublisher {
  return {
    snapshots: (accounts) => bus.publish(billingBalanceSnapshots, {}, { incarnation: ledgerEpoch(), accounts }),
  };
}
