import { parseEpochRun } from '@gateway/admission/limit-store/epoch-rules.js';
import { createMonths } from '@gateway/billing/ledger/months.js';
import type { UsageRecord } from '@gateway/billing/records/rules.js';
import { readDelivery } from '@gateway/billing/usage/read/read-deliveries.js';
import { settleBatch } from '@gateway/billing/usage/settle-batch.js';
import { figuresFromWire } from '@gateway/contracts/messages';
import { monthStart, parseRowName, rate, WALLET_ROW } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import { RUN_FIGURES } from '../scenario/run-catalog.js';
import { Random } from '../time/random.js';
import { checkAnsweredAfterFailover, checkNotExpiredInSilence } from './run-kind-checks.js';
import type { CallTruth } from './truth.js';

const figures = figuresFromWire(RUN_FIGURES);
/** How long the last chunk waits for the stream's acknowledgement (docs/protocol.md#remains). */
const RECORD_WAIT_MS = 2_000;

/** Runs the checks that apply when all work is finished. */
export async function runFinalChecks(world: World): Promise<void> {
  checkLedger(world);
  checkRecords(world);
  checkMirrors(world);
  checkNotExpiredInSilence(world);
  checkAnsweredAfterFailover(world);
  await checkReplay(world);
}

/**
 * Checks balances and wallets against the entries, which sum to zero (docs/protocol.md#i1):
 * {@link MemoryLedger} refuses others.
 */
function checkLedger({ ledger, truth, scenario }: World): void {
  const sums = new Map<string, bigint>();
  for (const { ledgerAccount, amountNanoUsd } of [...ledger.transactions.values()].flatMap(({ entries }) => entries))
    sums.set(ledgerAccount, (sums.get(ledgerAccount) ?? 0n) + amountNanoUsd);
  for (const { name } of scenario.accounts) {
    const wallet = ledger.row(name, WALLET_ROW)?.value ?? 0n;
    const posted = sums.get(`wallet:${name}`) ?? 0n;
    const funded = truth.fundsOf(name);
    const records = [...ledger.records.values()].filter(({ account }) => account === name);
    const charged = records.reduce((sum, { walletNanoUsd }) => sum + walletNanoUsd, 0n);
    if (wallet !== posted) truth.broke('balances are the sums of their entries', `${name}: ${wallet}, not ${posted}`);
    if (wallet !== funded - charged)
      truth.broke('a wallet is credits less charges', `${name}: ${wallet} of ${funded} less ${charged}`);
  }
}

/** Settles all messages in another order and compares balances (docs/protocol.md#i8). */
async function checkReplay({ streams, ledger, truth, scenario }: World): Promise<void> {
  const again = new MemoryLedger();
  const store = {
    commit: (work: Parameters<MemoryLedger['settle']>[0]) => again.settle(work),
    ensureMonth: async () => true,
  };
  const months = createMonths(store);
  const random = new Random(scenario.seed ^ 0x3c3c);
  const places = streams.usage.map((message) => ({ message, place: random.next() }));
  places.sort((one, other) => one.place - other.place);
  for (const { data, subject, sequence } of places.map(({ message }) => message)) {
    const { received, deadLetters } = readDelivery(data, { subject, sequence });
    await settleBatch(store, months, { received, deadLetters, applied: [] });
  }
  for (const { name } of scenario.accounts) {
    const names = new Set([...(ledger.rows.get(name) ?? []), ...(again.rows.get(name) ?? [])].map(([row]) => row));
    for (const row of names) {
      const opening = row === WALLET_ROW ? truth.fundsOf(name) : 0n;
      const [first, second] = [ledger.row(name, row)?.value ?? 0n, (again.row(name, row)?.value ?? 0n) + opening];
      if (first !== second)
        truth.broke('any order gives the same balances', `${name} ${row}: ${first}, then ${second}`);
    }
  }
}

/** Compares each call with its record (docs/protocol.md#invariants). */
function checkRecords(world: World): void {
  const seen = new Set<string>();
  for (const call of world.truth.calls) {
    // If the admission response never reached the edge, the call has no hold there.
    seen.add(call.id ?? call.client.id);
    const record = world.ledger.records.get(call.id ?? call.client.id);
    if (call.dispatchedAt === null) checkNotDispatched(world, call, record);
    else checkDispatched(world, call, record);
  }
  for (const id of world.ledger.records.keys()) {
    if (!seen.has(id)) world.truth.broke('every record belongs to a call', id);
  }
}

function checkNotDispatched({ truth }: World, { id }: CallTruth, record: UsageRecord | undefined): void {
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
    const detail = `${id} costs ${record.chargedNanoUsd}, status ${status}`;
    truth.broke('a response that the gateway cut costs nothing', detail);
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
    // Otherwise the client left and the edge did not read the response to its end.
    const isWhole = record.attempts.at(-1)?.outcome !== 'abandoned';
    if (usage !== null && isWhole) truth.broke('reported usage is charged', `${id} is estimated`);
    return;
  }
  const expected = rate({ ...usage, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0 }, figures);
  if (record.chargedNanoUsd !== expected) {
    truth.broke('the charge matches the reported usage', `${id}: ${record.chargedNanoUsd}, not ${expected}`);
  }
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

/** Compares the money rows of the limit store with the ledger. */
function checkMirrors({ server, scenario, ledger, truth }: World): void {
  for (const { name } of scenario.accounts) {
    // An account that was not used since the limit store was lost is not loaded yet.
    if (!server.isLoaded(name)) continue;
    const fields = server.account(name);
    for (const [field, value] of Object.entries(fields)) {
      if (!field.startsWith('v:') || field.startsWith('v:w:session')) continue;
      const row = ledger.row(name, field.slice(2));
      if (value === '' ? row !== undefined : Number(value) !== Number(row?.value ?? 0n))
        truth.broke('the limit store mirrors the ledger', `${name} ${field}: ${value}, the ledger has ${row?.value}`);
    }
    for (const [row, { value }] of ledger.rows.get(name) ?? []) {
      if (`v:${row}` in fields || startOf(row) <= Number(fields['at']) || value === 0n) continue;
      const rule = 'a balance missing from the limit store is loaded on demand or zero';
      truth.broke(rule, `${name} ${row}: the ledger has ${value}`);
    }
  }
}

/** Start of a row's period (ms). A row without a calendar period started before every load. */
function startOf(name: string): number {
  const row = parseRowName(name);
  if (row?.kind === 'key_month' || row?.kind === 'member_month') return monthStart(row.month);
  return row?.kind === 'window' && row.type !== 'monthly' ? row.start : -Infinity;
}
