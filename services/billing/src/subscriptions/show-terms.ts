import type { AnswerBodyOf, billingGetLimits, billingGetSubscription } from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import type { LimitsStore, SubscriptionStore } from '../operator-ports.js';
import { shownPeriod, toSubscriptionView } from './period-rules.js';
import { toLimitsView } from './terms-rules.js';

/** The overrides of an account; null where there is none. */
export async function showLimits(
  store: Pick<LimitsStore, 'limits'>,
  account: string,
): Promise<AnswerBodyOf<typeof billingGetLimits>> {
  return { limits: toLimitsView(await store.limits(account)) };
}

/** The running period, else the one that begins next. */
export async function showSubscription(
  store: Pick<SubscriptionStore, 'periods'>,
  account: string,
  now: number,
): Promise<AnswerBodyOf<typeof billingGetSubscription>> {
  const shown = shownPeriod(await store.periods(account, now), now);
  if (shown === null) return refuse('not_found', 'the account has no subscription');
  return { subscription: toSubscriptionView(shown, now) };
}
