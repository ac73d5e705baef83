import type { AccountTerms } from '@gateway/contracts/messages';

/** An account of which billing has no terms (docs/behaviour.md#order-of-refusals). */
const TERMS_WITHOUT_PLAN: AccountTerms = {
  plan: null,
  requestsPerMinute: 60,
  concurrency: 3,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};

/**
 * Terms as the limit store keeps them; empty: billing has none. Each account gets an object of its
 * own.
 */
export function readTerms(text: string): AccountTerms {
  return text === '' ? { ...TERMS_WITHOUT_PLAN } : (JSON.parse(text) as AccountTerms);
}

/** The playground's own minute (libs/contracts/specification/model-gateway-api.md#limits). */
export const PLAYGROUND_REQUESTS_PER_MINUTE = 10;

/** A time span within which what was found at `now` stays true: [from, until). */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/**
 * The terms of one time: `subscription` is the period that runs, and null exactly when no plan is
 * in force.
 */
export type RunningTerms = Omit<AccountTerms, 'next' | 'withoutPlan'>;

/** The terms that hold within [from, until). */
export interface TermsSpan extends Validity {
  readonly terms: RunningTerms;
}

const spansOfTerms = new WeakMap<AccountTerms, readonly TermsSpan[]>();

/**
 * What holds at `now`, and how long. A period is in force from its start to its end, by Redis time
 * and whatever billing has said of it yet: the following one takes over at its own start, also when
 * the one before would still run, and between them there is no plan. The same terms give the same
 * objects.
 * @param now Redis time in ms. @throws RangeError for NaN
 */
export function termsAt(known: AccountTerms, now: number): TermsSpan {
  let spans = spansOfTerms.get(known);
  if (spans === undefined) {
    spans = divide(known);
    spansOfTerms.set(known, spans);
  }
  const span = spans.find(({ until }) => now < until);
  if (span === undefined) throw new RangeError(`not a time: ${now}`);
  return span;
}

/** Whether the plan pays for a model; `models` null means all. */
export function planIncludes(terms: RunningTerms, model: string): boolean {
  return terms.models === null || terms.models.includes(model);
}

export function intersect(one: Validity, other: Validity): Validity {
  return { from: Math.max(one.from, other.from), until: Math.min(one.until, other.until) };
}

/** All of time, in spans that follow each other. */
function divide({ next, withoutPlan, ...current }: AccountTerms): TermsSpan[] {
  const nextStart = next?.subscription.start ?? Infinity;
  const spans = nextStart > 0 ? spansOf(current, withoutPlan, { from: 0, until: nextStart }) : [];
  return next === undefined ? spans : [...spans, ...spansOf(next, withoutPlan, { from: nextStart, until: Infinity })];
}

/** Before, in and after the period of the terms, as far as that lies within a span. */
function spansOf(terms: RunningTerms, withoutPlan: AccountTerms['withoutPlan'], span: Validity): TermsSpan[] {
  const { plan, subscription } = terms;
  const { requestsPerMinute, concurrency } = withoutPlan ?? terms;
  const none = { ...TERMS_WITHOUT_PLAN, requestsPerMinute, concurrency };
  if (plan === null || subscription === null) return [{ ...span, terms: none }];
  const { from, until } = intersect({ from: subscription.start, until: subscription.end }, span);
  if (from >= until) return [{ ...span, terms: none }];
  const parts = [
    { from: span.from, until: from, terms: none },
    { from, until, terms },
    { from: until, until: span.until, terms: none },
  ];
  return parts.filter((part) => part.from < part.until);
}
