import type { ClientCall, FaultDone, JoinedCall, Tokens } from './evidence.js';
import { tokensOf } from '../load/call-plan.js';
import { chargeMax, chargeOf } from '../load/accounts.js';

/**
 * An edge reads a response for up to this time after its client has disconnected. A kill of the
 * edge in this time affects the call.
 */
const READ_AFTER_DISCONNECT_MS = 10_000;
const SLACK_MS = 1_000;
/** A call older than this is in a heartbeat of its edge. */
const HEARTBEAT_AFTER_MS = 2_000;
/** Time until a call expires: the expiry time, and the requests to billing after it. */
const EXPIRED_AFTER_MS = 60_000;

/** Codes of a 500 that only a fault of the gateway causes. */
export const FAULT_CODES = /^(admission_error|lookup_failed|catalog_error|usage_unavailable)$/;
/** Clients may get these 500s for this time after a fault. */
export const RECOVERY_MS = 5_000;

/** Start and end of a fault, including the time until all harmed parts are ready again. */
export type FaultSpan = Pick<FaultDone, 'from' | 'until'>;

export function isFaultAnswer({ status, code }: Pick<ClientCall, 'status' | 'code'>): boolean {
  return status === 500 && FAULT_CODES.test(code ?? '');
}

/** Whether a fault, or the recovery from it, explains a 500 of this call. */
export function isDuringFault(
  { begunAt, endedAt }: Pick<ClientCall, 'begunAt' | 'endedAt'>,
  faults: readonly FaultSpan[],
): boolean {
  return faults.some(({ from, until }) => from <= endedAt && until + RECOVERY_MS >= begunAt);
}

/**
 * Whether the gateway refused or broke a call because of a fault. Excludes refusals by a limit and
 * planned failures of the provider.
 */
export function isRefusedBy(
  { from, until }: FaultSpan,
  { begunAt, endedAt, ending, status, code }: ClientCall,
): boolean {
  if (endedAt < from || begunAt > until || ending === 'left') return false;
  return status === null || (status >= 500 && FAULT_CODES.test(code ?? ''));
}

export function judgeCall(joined: JoinedCall, faults: readonly FaultDone[]): string | null {
  const { call, provider, records } = joined;
  const [record] = records;
  if (isFaultAnswer(call) && !isDuringFault(call, faults)) return `got a 500 ${call.code} without a fault`;
  if (records.length > 1) return `has ${records.length} records`;
  if (provider.length > 0 && record === undefined) {
    return isLostWithLimitStore(joined, faults) ? null : 'reached the provider and has no record';
  }
  if (call.ending === 'whole') return judgeWhole(joined);
  if (record === undefined) return null;
  const hits = hitsOf(joined, faults);
  if (provider.length === 0 && record.outcome === 'settled') return 'is settled and never reached the provider';
  if (record.outcome === 'expired' && provider.length > 0 && !hits.edgeKilled)
    return 'expired while its edge was alive';
  if (record.outcome !== 'settled' && record.chargedNanoUsd !== 0n) return `is ${record.outcome} and was charged`;
  const wholes = provider.filter(({ ending }) => ending === 'whole').length;
  if (wholes > 1 && !hits.sourceDisturbed && !hits.edgeEnded) return `was served ${wholes} times by the provider`;
  switch (call.ending) {
    case 'refused':
      return record.chargedNanoUsd === 0n ? null : 'was answered with an error and charged';
    case 'cut':
      if (record.chargedNanoUsd === 0n) return null;
      if (!hits.edgeEnded) return 'was cut short, not by its client, and charged';
      // The edge was killed after it had stored its usage event and before it sent the last chunk.
      return wholes > 0 && record.chargedNanoUsd === exactCharge(joined)
        ? null
        : 'was cut by the end of its edge and charged wrongly';
    case 'left':
      return judgeLeft(joined, wholes > 0 && call.model !== 'cancelled' && !hits.sourceDisturbed && !hits.edgeEnded);
  }
}

/**
 * Allowed by design: if an edge dies together with its limit store, the calls that were in none of
 * its heartbeats leave no record. "Together" means that the limit store was lost before the calls
 * expired.
 */
export function isLostWithLimitStore({ call, provider, records }: JoinedCall, faults: readonly FaultDone[]): boolean {
  if (records.length > 0 || (call.ending !== 'cut' && call.ending !== 'left')) return false;
  const readAfterDisconnectMs = call.ending === 'left' ? READ_AFTER_DISCONNECT_MS : SLACK_MS;
  const begunAt = Math.min(...provider.map((one) => one.begunAt));
  const kill = faults.find(
    ({ what, target, from, until }) =>
      what === 'kill' &&
      target === `edge-proxy-${call.edge + 1}` &&
      from >= call.begunAt - SLACK_MS &&
      from <= call.endedAt + readAfterDisconnectMs &&
      until >= begunAt &&
      begunAt >= from - HEARTBEAT_AFTER_MS,
  );
  return faults.some(
    ({ what, target, from }) =>
      losesLimitStore({ what, target }) &&
      kill !== undefined &&
      from >= kill.from &&
      from <= kill.from + EXPIRED_AFTER_MS,
  );
}

/** Redis is empty or another instance afterwards. */
export function losesLimitStore({ what, target }: Pick<FaultDone, 'what' | 'target'>): boolean {
  return target === 'redis' && (what === 'restart' || what === 'kill' || what === 'flush');
}

/**
 * Checks a complete response: complete at the provider too, one settled record with the provider's
 * usage, and the exact charge.
 */
function judgeWhole(joined: JoinedCall): string | null {
  const { call, provider, records } = joined;
  const [record] = records;
  if (call.text !== 'all') return 'ended as complete with only a part of its text';
  if (!provider.some(({ ending }) => ending === 'whole'))
    return 'ended complete, and the provider had not completed it';
  if (record === undefined) return 'was answered and has no record';
  if (record.outcome !== 'settled') return `was answered and is ${record.outcome}`;
  const { input, output } = tokensOf(call.n);
  const isReported = (usage: Tokens | null): boolean => usage?.input === input && usage.output === output;
  if (!isReported(call.usage)) return 'was answered with another usage than the provider reported';
  if (record.evidence !== 'reported' || !isReported(record.tokens))
    return 'is recorded with another usage than the provider reported';
  const charge = exactCharge(joined);
  return record.chargedNanoUsd === charge ? null : `costs ${charge} and was charged ${record.chargedNanoUsd}`;
}

/**
 * Checks a call whose client disconnected. The charge is that of the reported usage, else at most
 * the worst case. A complete response is never free.
 */
function judgeLeft(joined: JoinedCall, mustPay: boolean): string | null {
  const { call, records } = joined;
  const [record] = records;
  if (record === undefined) return null;
  const { chargedNanoUsd, evidence } = record;
  if (chargedNanoUsd === 0n)
    return mustPay ? 'was completed by the provider and not charged after its client disconnected' : null;
  if (evidence === 'reported') {
    return chargedNanoUsd === exactCharge(joined) ? null : `was abandoned by its client and charged ${chargedNanoUsd}`;
  }
  return chargedNanoUsd <= chargeMax(call) ? null : `was abandoned and charged ${chargedNanoUsd}, above its worst case`;
}

function exactCharge({ call }: JoinedCall): bigint {
  return chargeOf(call.model, tokensOf(call.n));
}

/**
 * Returns which faults affected the call. `edgeEnded`: the edge was killed or stopped in order; its
 * running calls were cut, but a stop loses no record.
 */
function hitsOf({ call, provider }: JoinedCall, faults: readonly FaultDone[]) {
  const lastAt = Math.max(call.endedAt, ...provider.map(({ endedAt }) => endedAt ?? call.endedAt));
  const to = lastAt + (call.ending === 'left' ? READ_AFTER_DISCONNECT_MS : SLACK_MS);
  const during = faults.filter(({ from, until }) => from <= to && until >= call.begunAt - SLACK_MS);
  const edgeHad = (kind: FaultDone['what']): boolean =>
    during.some(({ what, target }) => what === kind && target === `edge-proxy-${call.edge + 1}`);
  return {
    edgeKilled: edgeHad('kill'),
    edgeEnded: edgeHad('kill') || edgeHad('stop without nats'),
    sourceDisturbed: during.some(({ target }) => target.startsWith('edge-proxy to source')),
  };
}
