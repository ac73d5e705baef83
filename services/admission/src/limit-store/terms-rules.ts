import { type AccountTerms, TERMS_WITHOUT_PLAN } from '@gateway/contracts/messages';

/** Parses stored terms into a new object for each account. Empty: billing has none. */
export function readTerms(text: string): AccountTerms {
  return text === '' ? { ...TERMS_WITHOUT_PLAN } : (JSON.parse(text) as AccountTerms);
}

/** A time span [from, until) within which a result for `now` stays valid. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

/** The terms at one time. `subscription` is the running period, or null if no plan is in effect. */
export type RunningTerms = Omit<AccountTerms, 'next' | 'withoutPlan'>;

/** The terms that apply within [from, until). */
export interface TermsSpan extends Validity {
  readonly terms: RunningTerms;
}

const spansOfTerms = new WeakMap<AccountTerms, readonly TermsSpan[]>();

/**
 * Returns the terms in effect at `now`, and their time span. A period is in effect from its start
 * to its end by Redis time, regardless of later messages from billing. The next period begins at
 * its own start, even if the previous one would still run. Between periods no plan is in effect.
 * The same terms return the same objects.
 * @param now Redis time in ms.
 * @throws RangeError for NaN
 */
export function findTermsAt(known: AccountTerms, now: number): TermsSpan {
  let spans = spansOfTerms.get(known);
  if (spans === undefined) {
    spans = splitIntoSpans(known);
    spansOfTerms.set(known, spans);
  }
  const span = spans.find(({ until }) => now < until);
  if (span === undefined) throw new RangeError(`not a time: ${now}`);
  return span;
}

/** Whether the plan includes a model. `models` null means all models. */
export function isModelInPlan(terms: RunningTerms, model: string): boolean {
  return terms.models === null || terms.models.includes(model);
}

export function intersect(one: Validity, other: Validity): Validity {
  return { from: Math.max(one.from, other.from), until: Math.min(one.until, other.until) };
}

/** Divides all time into consecutive spans. */
function splitIntoSpans({ next, withoutPlan, ...current }: AccountTerms): TermsSpan[] {
  const nextStart = next?.subscription.start ?? Infinity;
  const spans = nextStart > 0 ? computeSpans(current, withoutPlan, { from: 0, until: nextStart }) : [];
  return next === undefined
    ? spans
    : [...spans, ...computeSpans(next, withoutPlan, { from: nextStart, until: Infinity })];
}

/** Returns the parts of a span before, within and after the period of the terms. */
function computeSpans(terms: RunningTerms, withoutPlan: AccountTerms['withoutPlan'], span: Validity): TermsSpan[] {
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
