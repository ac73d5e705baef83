import type { AccountObject, AccountView, KeyView, LimitsSpec, SubscriptionView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';

/** The `spec` of one kind of object in a configuration file. */
export type SpecOf<K extends AccountObject['kind']> = Extract<AccountObject, { kind: K }>['spec'];

/**
 * The change that makes a stored object equal to the one in the file. `problem`: the file cannot be
 * applied; the text gives the reason and a remedy.
 *
 * The file owns the plan and the renewal of a subscription, limits, and the state of an account or
 * a key if it has one. Name, address and type of an account and all terms of a key are used at
 * creation. No operation changes them, so a later difference is a problem. Money, secrets, members
 * and an address that was verified later are not compared.
 */
export type Decision<F extends object = object> =
  | { readonly change: 'unchanged' }
  | { readonly change: 'created' | 'changed'; readonly before: F | null; readonly after: F }
  | { readonly problem: string };

const UNCHANGED = { change: 'unchanged' } as const;

export function decideAccount(wanted: SpecOf<'account'>, stored: AccountView | null): Decision {
  if (stored === null) return { change: 'created', before: null, after: wanted };
  if (stored.state === 'closed')
    return { problem: 'the account is closed: remove its objects from the file, or give a new account another ID' };
  const fixed = refuseDifferences({
    name: wanted.name !== stored.name,
    email: wanted.email.toLowerCase() !== stored.email,
    type: wanted.type !== stored.type,
  });
  return fixed ?? decideState(wanted.state, stored.state);
}

/** Compares the limits of an account. Absent and null are equal. */
export function decideLimits(wanted: LimitsSpec, stored: LimitsSpec): Decision<LimitsSpec> {
  const names = ['requestsPerMinute', 'concurrency', 'maxActiveKeys'] as const;
  const isSame = names.every((name) => (wanted[name] ?? null) === (stored[name] ?? null));
  return isSame ? UNCHANGED : { change: 'changed', before: stored, after: wanted };
}

/**
 * Compares a subscription. `after` is the body of its PUT. The file has the first period, so the
 * dates of a renewed one are not compared. Another plan for a renewed subscription begins in the
 * running period, which keeps the use of its monthly windows.
 */
export function decideSubscription(
  wanted: SpecOf<'subscription'>,
  stored: SubscriptionView | null,
  nowMs: number,
): Decision<SpecOf<'subscription'>> {
  const startMs = Date.parse(wanted.periodStart);
  const isOver = Date.parse(wanted.periodEnd) <= nowMs;
  if (stored === null && !isOver) return { change: 'created', before: null, after: wanted };
  if (stored === null && !wanted.renews) return UNCHANGED;
  if (stored === null)
    return { problem: 'the period is over, and the account has no subscription to continue: give the current period' };
  const { planId, renews } = stored;
  const periodStart = sameText(stored.periodStart, wanted.periodStart);
  const periodEnd = sameText(stored.periodEnd, wanted.periodEnd);
  const before = { planId, periodStart, periodEnd, renews };
  const isRenewed = wanted.renews && startMs < Date.parse(periodStart);
  const isSamePeriod = wanted.periodStart === periodStart && wanted.periodEnd === periodEnd;
  if (planId === wanted.planId && renews === wanted.renews && (isSamePeriod || isRenewed)) return UNCHANGED;
  if (!isOver && startMs > Math.max(nowMs, Date.parse(periodStart)))
    return { problem: 'the period follows the running one: apply the file again when it has begun' };
  if (!isOver) return { change: 'changed', before, after: wanted };
  if (isRenewed) return { change: 'changed', before, after: { ...before, planId: wanted.planId, renews: true } };
  return { problem: `the period is over, and the account has another subscription (${planId}): give a current period` };
}

/**
 * Compares an API key. If the file has no cap, the key has the one that its plan had as default
 * when it was created.
 */
export function decideKey({ state, ...wanted }: SpecOf<'key'>, stored: KeyView | null): Decision {
  if (stored === null)
    return state === 'revoked' ? UNCHANGED : { change: 'created', before: null, after: { state, ...wanted } };
  const fixed = refuseDifferences({
    name: wanted.name !== stored.name,
    memberId: wanted.memberId !== undefined && wanted.memberId !== stored.memberId,
    monthlySpendCapUsd:
      toNano(wanted.monthlySpendCapUsd) !== toNano(wanted.monthlySpendCapUsd && stored.monthlySpendCapUsd),
    allowedModels: toSet(wanted.allowedModels) !== toSet(stored.allowedModels),
    expiresAt: toMs(wanted.expiresAt) !== toMs(stored.expiresAt),
  });
  if (fixed !== null) return fixed;
  const isFinal = stored.state === 'revoked' || stored.state === 'expired';
  if (!isFinal) return decideState(state, stored.state);
  if (state === undefined || state === 'revoked') return UNCHANGED;
  return { problem: `the key is ${stored.state}, which is final: a new key needs another ID` };
}

function decideState(wanted: string | undefined, stored: string): Decision {
  if (wanted === undefined || wanted === stored) return UNCHANGED;
  return { change: 'changed', before: { state: stored }, after: { state: wanted } };
}

/** @param differs whether each field differs */
function refuseDifferences(differs: Readonly<Record<string, boolean>>): { readonly problem: string } | null {
  const names = Object.keys(differs).filter((name) => differs[name]);
  if (names.length === 0) return null;
  const problem = `${names.join(', ')}: differs, and cannot change after creation. Restore it, or give a new object another ID`;
  return { problem };
}

/** Returns the second text if both are the same time, so that `Z` and `.000Z` do not differ. */
const sameText = (time: string, other: string): string => (Date.parse(time) === Date.parse(other) ? other : time);
const toNano = (usd: string | null | undefined): bigint | null => (usd ? parseUsd(usd) : null);
const toMs = (time: string | null | undefined): number | null => (time ? Date.parse(time) : null);
/** Compares lists without their order. An empty one allows all models, like none. */
const toSet = (models: readonly string[] | null | undefined): string => [...new Set(models)].sort().join(' ');
