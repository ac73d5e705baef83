import type { HoldFields } from '@gateway/contracts/messages';
import { splitFunding, weeklyWindowRow } from '@gateway/metering';
import type { World } from '../hosts/world.js';
import type { CallTruth } from './truth.js';

/** The most that one call uses of its account's limits. */
interface CallUse {
  readonly walletNanoUsd: number;
  readonly chargedNanoUsd: number;
  readonly requests: 0 | 1;
}

const NOTHING: CallUse = { walletNanoUsd: 0, chargedNanoUsd: 0, requests: 0 };

/**
 * Checks that a call that is sent to a source stays within every limit of its account, by the true
 * state and not by the limit store's (docs/protocol.md#i6). Excludes calls that no hold could
 * cover: calls that expired while they ran and were settled late, and calls of an edge that was cut
 * off while the limit store was lost.
 */
export function checkOverAdmission(world: World, call: CallTruth): void {
  const { truth } = world;
  const { hold } = call;
  if (hold === null) return truth.broke('every dispatched call was admitted', String(call.id));
  const own = truth.calls.filter(
    (other) => other.account === call.account && other.hold !== null && !other.settledLate && !other.isUnguarded,
  );
  const all = own.map((other) => ({ hold: other.hold as HoldFields, taken: computeCallUse(world, other) }));
  checkWallet(world, call, all);
  checkCap(world, call, all);
  checkRequests(world, call, all);
  checkSlots(world, call, own);
}

type Counted = readonly { readonly hold: HoldFields; readonly taken: CallUse }[];

function checkWallet({ truth }: World, { id, account, hold }: CallTruth, all: Counted): void {
  if (hold === null || (hold.walletMaxNanoUsd ?? hold.worstNanoUsd) === 0) return;
  const taken = all.reduce((sum, one) => sum + one.taken.walletNanoUsd, 0);
  const funds = truth.entries
    .filter((entry) => entry.account === account)
    // A chargeback counts for calls that are admitted after admission has confirmed it.
    .filter(({ amountNanoUsd, inForceAt }) => amountNanoUsd > 0 || (inForceAt !== null && inForceAt <= hold.admittedAt))
    .reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
  if (taken > funds) truth.broke('the wallet covers every call', `${id}: ${taken} of ${funds} of ${account}`);
}

function checkCap({ truth, accounts }: World, { id, account, hold }: CallTruth, all: Counted): void {
  const cap = accounts.keys.get(account)?.find(({ record }) => record.key === hold?.key)?.record.capNanoUsd ?? null;
  if (hold === null || cap === null) return;
  const month = all
    .filter((one) => one.hold.key === hold.key && one.hold.periods.month === hold.periods.month)
    .reduce((sum, one) => sum + one.taken.chargedNanoUsd, 0);
  if (month > cap) truth.broke('no monthly cap is exceeded', `${id}: ${month} of ${cap} by ${hold.key}`);
}

/** Calls of a week, the only window in requests in the plans of a run. */
function checkRequests({ truth }: World, { id, hold, limits }: CallTruth, all: Counted): void {
  const row = hold === null ? null : weekOf(hold);
  const limit = row === null ? undefined : limits?.rows.get(row);
  if (limit === undefined) return;
  const used = all.reduce((sum, one) => sum + (weekOf(one.hold) === row ? one.taken.requests : 0), 0);
  if (used > limit) truth.broke('no request window is exceeded', `${id}: ${used} of ${limit} in ${row}`);
}

/**
 * A call owns its slot until its lease ends or an operator takes the slot back. Calls that their
 * edge has ended do not count: billing may close the hold before the edge's release frees the slot.
 */
function checkSlots({ truth, time }: World, { id, hold, limits }: CallTruth, own: readonly CallTruth[]): void {
  if (limits === null) return;
  const admittedAt = hold?.admittedAt ?? 0;
  const running = own.filter(
    (one) =>
      one.isRunning &&
      (one.hold?.admittedAt ?? Infinity) <= admittedAt &&
      one.leasedUntil > time.now &&
      !one.isTakenBack,
  );
  if (running.length > limits.slots)
    truth.broke('no slot is given twice', `${id}: ${running.length} of ${limits.slots}`);
}

/** Uses the ledger's record, otherwise the edge's report, otherwise the worst case. */
function computeCallUse({ ledger }: World, { id, hold, event, released, edge, dispatchedAt }: CallTruth): CallUse {
  if (id === null || hold === null) return NOTHING;
  const record = ledger.records.get(id);
  if (record !== undefined) {
    const requests = record.outcome === 'settled' ? 1 : 0;
    return { walletNanoUsd: Number(record.walletNanoUsd), chargedNanoUsd: Number(record.chargedNanoUsd), requests };
  }
  const ended = event === null ? released : { outcome: event.outcome, amountNanoUsd: event.amountNanoUsd };
  if (ended !== null) {
    if (ended.outcome === 'void' || ended.outcome === 'voided') return NOTHING;
    const [amount, walletMax] = [BigInt(ended.amountNanoUsd), hold.walletMaxNanoUsd];
    const bound = walletMax === null ? null : BigInt(walletMax);
    const { wallet } = splitFunding(amount, BigInt(hold.planMaxNanoUsd), bound);
    return { walletNanoUsd: Number(wallet), chargedNanoUsd: ended.amountNanoUsd, requests: 1 };
  }
  if (dispatchedAt === null || !edge.host.isAlive) return NOTHING;
  return { walletNanoUsd: hold.walletMaxNanoUsd ?? hold.worstNanoUsd, chargedNanoUsd: hold.worstNanoUsd, requests: 1 };
}

function weekOf({ windows, periods }: HoldFields): string | null {
  const counts = windows.some(({ type, unit }) => type === 'weekly' && unit === 'requests');
  return counts && periods.weekly !== null ? weeklyWindowRow('requests', periods.weekly) : null;
}
