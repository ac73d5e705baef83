import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { pause } from '@gateway/service-kit';
import type { BatchDecision } from './batch-ledger-rules.js';
import type { AppliedMessage } from './progress-store.js';
import { readDelivery } from './read-delivery.js';
import type { ReceivedEvent } from './rules.js';
import { settleBatch, type UsageBatch } from './settle-batch.js';
import { settleInHalves, type SettleInHalvesDeps } from './settle-in-halves.js';
import type { SettleMeter } from './settle-meter.js';
import { snapshotMessages } from './snapshot-rules.js';
import type { SnapshotPublisher } from './stream.js';

/** Events in one database transaction; a message is never split. */
export const BATCH_EVENTS_MAX = 1_200;
/**
 * How long a batch is tried here while the database cannot work; then its messages are given back.
 */
export const RETRY_IN_PLACE_MS = 10_000;
/** Messages given back are delivered again after this. */
export const GIVEN_BACK_MS = 1_000;

/** A stored message as the bus delivers it. */
export interface UsageDelivery {
  readonly data: Uint8Array;
  readonly sequence: number;
  readonly storedAtMs: number;
  ack(): void;
  retryAfter(ms: number): void;
}

export interface SettleDeps extends SettleInHalvesDeps {
  readonly announcer: SnapshotPublisher;
  readonly meter: SettleMeter;
  /** Delay before retry number `attempt`, milliseconds. */
  readonly retryDelayMs: (attempt: number) => number;
  /** Aborted at the stop of the service. */
  readonly stopping: AbortSignal;
}

/**
 * Settles deliveries of one shard: commit, publish the balance snapshots, acknowledge
 * (docs/protocol.md#r7). Whatever ends this in between, the message comes again, changes nothing
 * and is told again. Infrastructure errors are retried for ever, here first and then by redelivery;
 * only an event that the database refuses by itself is set aside.
 */
export async function settleDeliveries(
  deps: SettleDeps,
  shard: number,
  deliveries: readonly UsageDelivery[],
): Promise<void> {
  let done = 0;
  for (const chunk of chunksOf(deliveries, shard)) {
    const decision = await settleWithRetry(deps, chunk);
    if (decision === null || !announce(deps, decision)) break;
    for (const { ack } of chunk.deliveries) ack();
    done += chunk.deliveries.length;
  }
  for (const { retryAfter } of deliveries.slice(done)) retryAfter(GIVEN_BACK_MS);
}

interface Chunk {
  readonly batch: UsageBatch;
  readonly deliveries: UsageDelivery[];
}

function* chunksOf(deliveries: readonly UsageDelivery[], shard: number): Generator<Chunk> {
  let chunk: {
    received: ReceivedEvent[];
    deadLetters: UsageBatch['deadLetters'][number][];
    applied: AppliedMessage[];
    from: UsageDelivery[];
  } | null = null;
  for (const delivery of deliveries) {
    const { sequence, storedAtMs } = delivery;
    const read = readDelivery(delivery.data, { shard, sequence });
    const events = read.received.length + read.deadLetters.length;
    if (chunk !== null && chunk.received.length + chunk.deadLetters.length + events > BATCH_EVENTS_MAX) {
      yield { batch: chunk, deliveries: chunk.from };
      chunk = null;
    }
    chunk ??= { received: [], deadLetters: [], applied: [], from: [] };
    chunk.received.push(...read.received);
    chunk.deadLetters.push(...read.deadLetters);
    chunk.applied.push({ sequence, storedAtMs });
    chunk.from.push(delivery);
  }
  if (chunk !== null) yield { batch: chunk, deliveries: chunk.from };
}

/** Null: the database could not work for too long. */
async function settleWithRetry(deps: SettleDeps, { batch }: Chunk): Promise<BatchDecision | null> {
  const { meter, log, stopping } = deps;
  const begunMs = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    const measured = meter.begin(batch.received);
    try {
      const decision = await settleAny(deps, batch);
      measured.settled(decision);
      return decision;
    } catch (err) {
      measured.failed(err);
      const delayMs = deps.retryDelayMs(attempt);
      const overdue = performance.now() - begunMs + delayMs > RETRY_IN_PLACE_MS;
      log.warn(
        { err, events: batch.received.length, attempt, overdue },
        'a batch could not be settled; it is tried again',
      );
      if (overdue || !(await pause(delayMs, stopping))) return null;
    }
  }
}

/** The whole batch; when the database refuses some of its data, all but that. */
async function settleAny(deps: SettleDeps, batch: UsageBatch): Promise<BatchDecision> {
  try {
    return await settleBatch(deps.store, deps.months, batch);
  } catch (err) {
    if (deps.isInfrastructureFault(err)) throw err;
    deps.log.error({ err, events: batch.received.length }, 'a batch was refused; it is settled in halves');
    return settleInHalves(deps, batch);
  }
}

/** False: the bus is disconnected. What was sent before that may be published twice. */
function announce({ announcer }: SettleDeps, decision: BatchDecision): boolean {
  return snapshotMessages(decision.closed, decision.rowsAfter).every((accounts: BalanceSnapshot[]) =>
    announcer.snapshots(accounts),
  );
}
