import { SHARDS_TOTAL, shardOfAccount } from '@gateway/contracts/ids';
import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { groupBy, pause } from '@gateway/service-kit';
import type { BatchDecision } from './batch-ledger-rules.js';
import { type Chunk, readChunks, type UsageDelivery } from './read-chunks.js';
import type { ReceivedEvent } from './rules.js';
import { settleBatch, type UsageBatch } from './settle-batch.js';
import { settleInHalves, type SettleInHalvesDeps } from './settle-in-halves.js';
import type { SettleMeter } from './settle-meter.js';
import { snapshotMessages } from './snapshot-rules.js';
import type { SnapshotPublisher } from './stream.js';

/** Events in one database transaction. */
export const BATCH_EVENTS_MAX = 1_200;
/**
 * Share of {@link BATCH_EVENTS_MAX} that the shards of a chunk have on average: they are not equal,
 * and a few events too many would be a transaction of their own.
 */
const FILLED = 5 / 6;
/**
 * How long a batch is tried here while the database cannot work; then its messages are given back.
 */
export const RETRY_IN_PLACE_MS = 10_000;
/** Messages given back are delivered again after this. */
export const GIVEN_BACK_MS = 1_000;

export interface SettleDeps extends SettleInHalvesDeps {
  readonly announcer: SnapshotPublisher;
  readonly meter: SettleMeter;
  /** Delay before retry number `attempt`, milliseconds. */
  readonly retryDelayMs: (attempt: number) => number;
  /** {@link BATCH_EVENTS_MAX} unless stated. */
  readonly batchEventsMax?: number;
  /** Aborted at the stop of the service. */
  readonly stopping: AbortSignal;
}

/**
 * Settles deliveries of one subject: commit, publish the balance snapshots, acknowledge
 * (docs/protocol.md#r7). Whatever ends this in between, the message comes again, changes nothing
 * and is told again. Infrastructure errors are retried for ever, here first and then by redelivery;
 * only an event that the database refuses by itself is set aside. The next chunk is read while one
 * is written.
 */
export async function settleDeliveries(
  deps: SettleDeps,
  subject: number,
  deliveries: readonly UsageDelivery[],
): Promise<void> {
  const lanes: Lanes = new Map();
  let last = Promise.resolve(true);
  let read = 0;
  for await (const chunk of readChunks(deliveries, subject, Math.ceil(batchEventsMax(deps) * SHARDS_TOTAL * FILLED))) {
    read += chunk.deliveries.length;
    const settling = settleChunk(deps, lanes, chunk);
    // Awaited only when the next chunk has been read.
    settling.catch(() => undefined);
    const isSettled = await last;
    last = settling;
    if (!isSettled) break;
  }
  await last;
  for (const { retryAfter } of deliveries.slice(read)) retryAfter(GIVEN_BACK_MS);
}

/**
 * What is under way of each shard of accounts; false: the database could not work, and nothing more
 * is tried.
 */
type Lanes = Map<number, Promise<boolean>>;

const batchEventsMax = (deps: SettleDeps): number => deps.batchEventsMax ?? BATCH_EVENTS_MAX;

/**
 * In one transaction if it is small. Else the shards of its accounts at the same time, which share
 * no account and no hash chain and so do not wait for each other, and after all of them that its
 * messages are applied.
 */
async function settleChunk(deps: SettleDeps, lanes: Lanes, { batch, deliveries }: Chunk): Promise<boolean> {
  const isSmall = batch.received.length + batch.deadLetters.length <= batchEventsMax(deps);
  const parts = isSmall ? [] : settleParts(deps, lanes, batch.received);
  const areSettled = (await Promise.all(parts)).every(Boolean);
  const isSettled = areSettled && (await settleOne(deps, isSmall ? batch : { ...batch, received: [] }));
  for (const { ack, retryAfter } of deliveries) {
    if (isSettled) ack();
    else retryAfter(GIVEN_BACK_MS);
  }
  return isSettled;
}

function settleParts(deps: SettleDeps, lanes: Lanes, received: readonly ReceivedEvent[]): Promise<boolean>[] {
  const eventsMax = batchEventsMax(deps);
  const parts: Promise<boolean>[] = [];
  for (const [shard, ofShard] of groupBy(received, ({ event }) => shardOfAccount(event.hold.account))) {
    const size = Math.ceil(ofShard.length / Math.ceil(ofShard.length / eventsMax));
    for (let from = 0; from < ofShard.length; from += size) {
      const batch = { received: ofShard.slice(from, from + size), deadLetters: [], applied: [] };
      const before = lanes.get(shard) ?? Promise.resolve(true);
      const part = before.then((mayGoOn) => mayGoOn && settleOne(deps, batch));
      lanes.set(shard, part);
      parts.push(part);
    }
  }
  return parts;
}

/** True: committed and told. */
async function settleOne(deps: SettleDeps, batch: UsageBatch): Promise<boolean> {
  const decision = await settleWithRetry(deps, batch);
  return decision !== null && announce(deps, decision);
}

/** Null: the database could not work for too long. */
async function settleWithRetry(deps: SettleDeps, batch: UsageBatch): Promise<BatchDecision | null> {
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
