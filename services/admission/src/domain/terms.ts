import type { AccountTerms } from '@gateway/contracts/messages';

/** An account of which billing has no terms (behaviour §1, account defaults). */
const TERMS_WITHOUT_PLAN: AccountTerms = {
  plan: null,
  requestsPerMinute: 60,
  concurrency: 3,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};

/** Terms as the gate keeps them; empty: billing has none. Each account gets an object of its own. */
export function readTerms(text: string): AccountTerms {
  return text === '' ? { ...TERMS_WITHOUT_PLAN } : (JSON.parse(text) as AccountTerms);
}

/** The playground's own minute (specification, Limits, additional rule 3). */
export const PLAYGROUND_REQUESTS_PER_MINUTE = 10;

/** A time span within which what was found at `now` stays true: [from, until). */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/** The subscription when it is in force at `now`; a period that has ended is no plan until billing sends the next. */
export function activeSubscription(terms: AccountTerms, now: number): AccountTerms['subscription'] {
  const { plan, subscription } = terms;
  if (plan === null || subscription === null) return null;
  return now >= subscription.start && now < subscription.end ? subscription : null;
}

/** How long the answer of {@link activeSubscription} stays true. */
export function subscriptionValidity(terms: AccountTerms, now: number): Validity {
  const { subscription } = terms;
  if (subscription === null) return { from: 0, until: Infinity };
  if (now < subscription.start) return { from: 0, until: subscription.start };
  if (now < subscription.end) return { from: subscription.start, until: subscription.end };
  return { from: subscription.end, until: Infinity };
}

/** Whether the plan pays for a model; `models` null means all. */
export function planIncludes(terms: AccountTerms, model: string): boolean {
  return terms.models === null || terms.models.includes(model);
}

export function intersect(one: Validity, other: Validity): Validity {
  return { from: Math.max(one.from, other.from), until: Math.min(one.until, other.until) };
}
