import { makeUuidV7 } from '@gateway/contracts/ids';
import type {
  AnswerBodyOf,
  billingDeleteSubscription,
  billingPutSubscription,
  ReceivedOf,
} from '@gateway/contracts/messages';
import { notInForce, refuse } from '@gateway/contracts/operator';
import type { InForce, SubscriptionStore } from '../operator-ports.js';
import { decidePeriod, type PeriodWish } from './decide-rules.js';
import { toSubscriptionView } from './period-rules.js';

export interface SubscribeDeps {
  readonly store: SubscriptionStore;
  readonly inForce: InForce;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Gives an account a subscription period, or changes the one with this start; answers when admission has the terms. */
export async function putSubscription(
  { store, inForce, now }: SubscribeDeps,
  { account, spec, actor }: ReceivedOf<typeof billingPutSubscription>,
): Promise<AnswerBodyOf<typeof billingPutSubscription>> {
  const at = now();
  const { planId, renews } = spec;
  const wish: PeriodWish = {
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
    actor,
    start: wish.start,
    now: at,
    decide: (facts) => decidePeriod(wish, { ...facts, newId, now: at }),
  });
  if (decision.kind === 'refused') return decision.refusal;
  if (!(await inForce.awaitDelivered(account, change))) return notInForce();
  return {
    change: decision.kind === 'write' ? decision.change : 'unchanged',
    subscription: toSubscriptionView(decision.period, at),
  };
}

/** Ends an account's periods, those to come too; answers when admission has the terms. */
export async function deleteSubscription(
  { store, inForce, now }: SubscribeDeps,
  { account, actor }: ReceivedOf<typeof billingDeleteSubscription>,
): Promise<AnswerBodyOf<typeof billingDeleteSubscription>> {
  const change = await store.endPeriods(account, actor, now());
  if (change === null) return refuse('not_found', 'the account has no subscription');
  return (await inForce.awaitDelivered(account, change)) ? { deleted: true } : notInForce();
}
