import { parseEpochRun } from '@gateway/admission/limit-store/epoch-rules.js';
import type { UsageRecord } from '@gateway/billing/records/rules.js';
import { rate, type PriceFigures } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { RUN_FIGURES } from '../scenario/run-catalog.js';
import type { CallTruth } from './call-truth.js';

const figures: PriceFigures = {
  ...RUN_FIGURES,
  inputPerMillion: BigInt(RUN_FIGURES.inputPerMillion),
  outputPerMillion: BigInt(RUN_FIGURES.outputPerMillion),
  perCall: BigInt(RUN_FIGURES.perCall),
  tiers: [],
  extras: null,
};

/** How long the last chunk waits for the stream's acknowledgement (docs/protocol.md#remains). */
const RECORD_WAIT_MS = 2_000;

/** Compares each call with its record (docs/protocol.md#invariants). */
export function checkRecords(world: World): void {
  const seen = new Set<string>();
  for (const call of world.truth.calls) {
    // If the admission response never reached the edge, the call has no hold there.
    seen.add(call.id ?? call.client.id);
    const record = world.ledger.records.get(call.id ?? call.client.id);
    if (call.dispatchedAt === null) checkUndispatched(world, call, record);
    else checkDispatched(world, call, record);
  }
  for (const id of world.ledger.records.keys()) {
    if (!seen.has(id)) world.truth.broke('every record belongs to a call', id);
  }
}

function checkUndispatched({ truth }: World, { id }: CallTruth, record: UsageRecord | undefined): void {
  if (record !== undefined && record.outcome !== 'expired') {
    truth.broke('a call that was never dispatched is not charged', `${id} is ${record.outcome}`);
  }
}

function checkDispatched(world: World, call: CallTruth, record: UsageRecord | undefined): void {
  const { truth } = world;
  const { id, event, client, isStored } = call;
  if (record === undefined) {
    if (!mayBeLost(world, call)) truth.broke('every dispatched call has a record', `${id} has none`);
    return;
  }
  if (isStored && event !== null) {
    const same = record.outcome === event.outcome && record.chargedNanoUsd === BigInt(event.amountNanoUsd);
    if (!same) truth.broke('the record equals the stored event', `${id}: ${record.outcome} ${record.chargedNanoUsd}`);
  } else if (record.outcome !== 'expired')
    truth.broke('a call without a stored event expires', `${id} is ${record.outcome}`);
  const { status, isComplete, hasLeft } = client.seen;
  const wholeAnswer = status === 200 && isComplete;
  if (wholeAnswer && record.outcome !== 'settled' && !mayBeUnrecorded(world, call)) {
    truth.broke('every complete response is settled', `${id} is ${record.outcome}`);
  }
  if (!wholeAnswer && !hasLeft && record.chargedNanoUsd !== 0n && call.edge.host.isAlive) {
    truth.broke(
      'a response that the gateway cut costs nothing',
      `${id} costs ${record.chargedNanoUsd}, status ${status}`,
    );
  }
  checkAmount(world, call, record);
}

/** Checks that the amount is the reported usage's price, or an estimate within the hold. */
function checkAmount({ truth }: World, { id, reported: usage, hold }: CallTruth, record: UsageRecord): void {
  if (record.outcome !== 'settled') {
    if (record.chargedNanoUsd !== 0n) truth.broke('only settled calls are charged', `${id}: ${record.chargedNanoUsd}`);
    return;
  }
  if (usage === null || record.evidence === 'estimated') {
    if (record.evidence !== 'estimated') truth.broke('unreported usage is estimated', `${id}: ${record.evidence}`);
    if (record.chargedNanoUsd > BigInt(hold?.worstNanoUsd ?? 0))
      truth.broke('an estimate is within the hold', String(id));
    if (usage !== null && !isEarlyEnd(record)) truth.broke('reported usage is charged', `${id} is estimated`);
    return;
  }
  const expected = rate({ ...usage, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0 }, figures);
  if (record.chargedNanoUsd !== expected) {
    truth.broke('the charge matches the reported usage', `${id}: ${record.chargedNanoUsd}, not ${expected}`);
  }
}

/** True if the client left and the edge did not read the response to its end. */
function isEarlyEnd(record: UsageRecord): boolean {
  return record.attempts.at(-1)?.outcome === 'abandoned';
}

/**
 * An accepted loss: the edge died together with its limit store, or with a superseded one that
 * admitted the call, and no heartbeat had named the call.
 */
function mayBeLost({ server, streams }: World, { id, edge, hold, epoch, isStored }: CallTruth): boolean {
  if (isStored || edge.host.isAlive || id === null) return false;
  const isLost = server.lostAt >= (hold?.admittedAt ?? 0) || (epoch !== null && parseEpochRun(epoch) !== server.runId);
  return isLost && !streams.listed.has(id);
}

/**
 * An accepted loss: the last chunk was sent after two seconds without the stream's acknowledgement,
 * and then the edge was killed.
 */
function mayBeUnrecorded({ time }: World, { edge, isStored, lastPieceAt, client }: CallTruth): boolean {
  const waitedMs = (client.seen.endedAt ?? 0) - time.startedAt - (lastPieceAt ?? Infinity);
  return !edge.host.isAlive && !isStored && waitedMs >= RECORD_WAIT_MS;
}
