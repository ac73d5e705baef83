import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  type AnswerBodyOf,
  billingDeleteSubscription,
  billingGetLimits,
  billingGetSubscription,
  billingPutLimits,
  billingPutSubscription,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { notInForce, refuse } from '@gateway/contracts/operator';
import type { ChangeDelivery } from '../ledger/store.js';
import { decidePeriod, type PeriodRequest } from './decide-rules.js';
import type { LimitsStore } from './limits-store.js';
import { findShownPeriod, toSubscriptionView } from './period-rules.js';
import type { SubscriptionStore } from './store.js';
import { type LimitOverrides, toLimitsView } from './terms-rules.js';

export interface SubscribeDeps {
  readonly store: SubscriptionStore;
  readonly inForce: ChangeDelivery;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Creates a subscription period, or changes the period with the same start. Responds after
 * admission has applied the terms.
 */
export async function putSubscription(
  { store, inForce, now }: SubscribeDeps,
  { account, spec, author }: ReceivedOf<typeof billingPutSubscription>,
): Promise<AnswerBodyOf<typeof billingPutSubscription>> {
  const at = now();
  const { planId, renews } = spec;
  const wanted: PeriodRequest = {
    account,
    planId,
    renews,
    start: Date.parse(spec.periodStart),
    end: Date.parse(spec.periodEnd),
  };
  const newId = makeUuidV7(at);
  const { decision, change } = await store.putPeriod({
    account,
    planId,
    author,
    start: wanted.start,
    now: at,
    decide: (input) => decidePeriod(wanted, { ...input, newId, now: at }),
  });
  if (decision.kind === 'refused') return decision.refusal;
  if (!(await inForce.awaitDelivered(account, change))) return notInForce();
  return {
    change: decision.kind === 'write' ? decision.change : 'unchanged',
    subscription: toSubscriptionView(decision.period, at),
  };
}

/**
 * Ends an account's running and upcoming periods. Responds after admission has applied the terms.
 */
export async function deleteSubscription(
  { store, inForce, now }: SubscribeDeps,
  { account, author }: ReceivedOf<typeof billingDeleteSubscription>,
): Promise<AnswerBodyOf<typeof billingDeleteSubscription>> {
  const change = await store.endPeriods(account, author, now());
  if (change === null) return refuse('not_found', 'the account has no subscription');
  return (await inForce.awaitDelivered(account, change)) ? { deleted: true } : notInForce();
}

/** Returns the running period, or else the next one. */
export async function showSubscription(
  store: Pick<SubscriptionStore, 'periods'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingGetSubscription>> {
  const shown = findShownPeriod(await store.periods(account, now), now);
  if (shown === null) return refuse('not_found', 'the account has no subscription');
  return { subscription: toSubscriptionView(shown, now) };
}

export interface PutLimitsDeps {
  readonly store: LimitsStore;
  readonly inForce: ChangeDelivery;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Replaces all of an account's overrides. Responds after admission has applied the terms. */
export async function putLimits(
  { store, inForce, now }: PutLimitsDeps,
  { account, spec, author }: ReceivedOf<typeof billingPutLimits>,
): Promise<AnswerBodyOf<typeof billingPutLimits>> {
  const limits: LimitOverrides = {
    requestsPerMinute: spec.requestsPerMinute ?? null,
    concurrency: spec.concurrency ?? null,
    activeKeysMax: spec.maxActiveKeys ?? null,
  };
  const change = await store.putLimits({ account, limits, author, now: now() });
  return (await inForce.awaitDelivered(account, change)) ? { limits: spec } : notInForce();
}

/** Returns the overrides of an account; null for each limit without an override. */
export async function showLimits(
  store: Pick<LimitsStore, 'limits'>,
  account: string,
): Promise<AnswerBodyOf<typeof billingGetLimits>> {
  return { limits: toLimitsView(await store.limits(account)) };
}

export interface SubscriptionDeps extends Omit<SubscribeDeps, 'store'> {
  readonly subscriptions: SubscriptionStore;
  readonly limits: LimitsStore;
}

/** Serves the requests that change or show an account's subscription and limits. */
export function serveSubscriptions(bus: Pick<Bus, 'serve'>, deps: SubscriptionDeps): void {
  const { subscriptions, limits, inForce, now } = deps;
  bus.serve(billingPutSubscription, (body) => putSubscription({ store: subscriptions, inForce, now }, body));
  bus.serve(billingDeleteSubscription, (body) => deleteSubscription({ store: subscriptions, inForce, now }, body));
  bus.serve(billingGetSubscription, ({ account }) => showSubscription(subscriptions, account, now()));
  bus.serve(billingPutLimits, (body) => putLimits({ store: limits, inForce, now }, body));
  bus.serve(billingGetLimits, ({ account }) => showLimits(limits, account));
}
