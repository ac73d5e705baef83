import { SHARDS_TOTAL, shardOfAccount } from '@gateway/contracts/ids';
import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { groupBy, pause } from '@gateway/service-kit';
import type { SnapshotPublisher, UsageDelivery } from '../stream/stream.js';
import { bisectBatch, type BisectDeps } from './bisect-batch.js';
import type { BatchDecision } from './decide/batch-ledger-rules.js';
import { buildSnapshotMessages } from './decide/snapshot-rules.js';
import type { SettlementMeter } from './meter.js';
import { type Chunk, readChunks } from './read/read-deliveries.js';
import type { ReceivedEvent, UsageBatch } from './rules.js';
import { settleBatch } from './settle-batch.js';

/** Maximum of events in one database transaction. */
export const BATCH_EVENTS_MAX = 1_200;
/**
 * Average fill of the shards of a chunk, as a share of {@link BATCH_EVENTS_MAX}. Shards differ in
 * size, and a few events above the maximum would need another transaction.
 */
const FILLED = 5 / 6;
/**
 * Maximum time for retrying a batch here after infrastructure faults; then its messages are
 * returned to the stream.
 */
export const RETRY_IN_PLACE_MS = 10_000;
/** Delay until returned messages are delivered again. */
export const REDELIVERY_DELAY_MS = 1_000;

export interface ProcessingDeps extends BisectDeps {
  readonly announcer: SnapshotPublisher;
  readonly meter: SettlementMeter;
  /** Delay before retry number `attempt`, milliseconds. */
  readonly retryDelayMs: (attempt: number) => number;
  /** Defaults to {@link BATCH_EVENTS_MAX}. */
  readonly batchEventsMax?: number;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/**
 * Processes deliveries of one subject: reads them, settles their events, publishes the balance
 * snapshots, acknowledges (docs/protocol.md#r7). If this is interrupted, the message is delivered
 * again, changes nothing, and is published again. Infrastructure faults are retried indefinitely,
 * first here and then by redelivery. Only an event that the database rejects by itself becomes a
 * dead letter. The next chunk is read while the previous one is written.
 */
export async function processDeliveries(
  deps: ProcessingDeps,
  subject: number,
  deliveries: readonly UsageDelivery[],
): Promise<void> {
  const lanes: ShardSettlements = new Map();
  let last = Promise.resolve(true);
  let read = 0;
  for await (const chunk of readChunks(deliveries, subject, Math.ceil(batchEventsMax(deps) * SHARDS_TOTAL * FILLED))) {
    read += chunk.deliveries.length;
    const processing = processChunk(deps, lanes, chunk);
    // Prevents an unhandled rejection: it is awaited only after the next chunk was read.
    processing.catch(() => undefined);
    const isSettled = await last;
    last = processing;
    if (!isSettled) break;
  }
  await last;
  for (const { retryAfter } of deliveries.slice(read)) retryAfter(REDELIVERY_DELAY_MS);
}

/** The last settlement of each shard; false after an infrastructure fault. */
type ShardSettlements = Map<number, Promise<boolean>>;

const batchEventsMax = (deps: ProcessingDeps): number => deps.batchEventsMax ?? BATCH_EVENTS_MAX;

/**
 * Settles a small chunk in one transaction. For a larger chunk, settles the shards of its accounts
 * concurrently: they share no account and no hash chain, so they do not block each other.
 * Afterwards a last transaction records the messages as applied.
 */
async function processChunk(
  deps: ProcessingDeps,
  lanes: ShardSettlements,
  { batch, deliveries }: Chunk,
): Promise<boolean> {
  const isSmall = batch.received.length + batch.deadLetters.length <= batchEventsMax(deps);
  const parts = isSmall ? [] : startShards(deps, lanes, batch.received);
  const areSettled = (await Promise.all(parts)).every(Boolean);
  const isSettled = areSettled && (await settleAndPublish(deps, isSmall ? batch : { ...batch, received: [] }));
  for (const { ack, retryAfter } of deliveries) {
    if (isSettled) ack();
    else retryAfter(REDELIVERY_DELAY_MS);
  }
  return isSettled;
}

/** Starts a settlement after the last one of each shard, for every shard of the events. */
function startShards(
  deps: ProcessingDeps,
  lanes: ShardSettlements,
  received: readonly ReceivedEvent[],
): Promise<boolean>[] {
  const eventsMax = batchEventsMax(deps);
  const parts: Promise<boolean>[] = [];
  for (const [shard, ofShard] of groupBy(received, ({ event }) => shardOfAccount(event.hold.account))) {
    const size = Math.ceil(ofShard.length / Math.ceil(ofShard.length / eventsMax));
    for (let from = 0; from < ofShard.length; from += size) {
      const batch = { received: ofShard.slice(from, from + size), deadLetters: [], applied: [] };
      const before = lanes.get(shard) ?? Promise.resolve(true);
      const part = before.then((mayGoOn) => mayGoOn && settleAndPublish(deps, batch));
      lanes.set(shard, part);
      parts.push(part);
    }
  }
  return parts;
}

/** Returns true if the batch was committed and published. */
async function settleAndPublish(deps: ProcessingDeps, batch: UsageBatch): Promise<boolean> {
  const decision = await retryInPlace(deps, batch);
  return decision !== null && publish(deps, decision);
}

/** Retries the settlement. Returns null if infrastructure faults last too long. */
async function retryInPlace(deps: ProcessingDeps, batch: UsageBatch): Promise<BatchDecision | null> {
  const { meter, log, stopping } = deps;
  const begunMs = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    const measured = meter.begin(batch.received);
    try {
      const decision = await settleOrBisect(deps, batch);
      measured.settled(decision);
      return decision;
    } catch (err) {
      measured.failed(err);
      const delayMs = deps.retryDelayMs(attempt);
      const overdue = performance.now() - begunMs + delayMs > RETRY_IN_PLACE_MS;
      log.warn({ err, events: batch.received.length, attempt, overdue }, 'a batch could not be settled; will retry');
      if (overdue || !(await pause(delayMs, stopping))) return null;
    }
  }
}

/** Settles the whole batch; if the database rejects some events, settles the others. */
async function settleOrBisect(deps: ProcessingDeps, batch: UsageBatch): Promise<BatchDecision> {
  try {
    return await settleBatch(deps.store, deps.months, batch);
  } catch (err) {
    if (deps.isInfrastructureFault(err)) throw err;
    deps.log.error({ err, events: batch.received.length }, 'the database rejected a batch; settling it in halves');
    return bisectBatch(deps, batch);
  }
}

/** Returns false if the bus is disconnected; some snapshots may be published twice then. */
function publish({ announcer }: ProcessingDeps, decision: BatchDecision): boolean {
  return buildSnapshotMessages(decision.closed, decision.rowsAfter).every((accounts: BalanceSnapshot[]) =>
    announcer.snapshots(accounts),
  );
}

/**
 * Settles messages that were read by position and not delivered. Publishes nothing to admission:
 * under the following epoch, admission loads every account again and queries billing for due holds.
 * @param deps with a store that does not use the guard
 */
export function processLostMessages(
  deps: Omit<ProcessingDeps, 'announcer'>,
): (subject: number, messages: readonly UsageDelivery[]) => Promise<boolean> {
  const unpublished = { ...deps, announcer: { snapshots: () => true } };
  return async (subject, messages) => {
    let settled = 0;
    const deliveries = messages.map((message) => ({ ...message, ack: () => void (settled += 1) }));
    await processDeliveries(unpublished, subject, deliveries);
    return settled === messages.length;
  };
}
