import { expect, test } from '@jest/globals';
import type { AccountTerms } from '@gateway/contracts/messages';
import { findTermsAt } from './terms-rules.js';

const [START, END, LATER] = [1_000_000, 2_000_000, 2_500_000];

type Period = NonNullable<AccountTerms['next']>;

function period(id: string, start: number, end: number, concurrency: number): Period {
  return {
    plan: { id: `plan-${id}`, name: id, tier: id },
    requestsPerMinute: 10 * concurrency,
    concurrency,
    models: null,
    windows: [],
    allotments: [],
    subscription: { id, start, end },
  };
}

const NONE: AccountTerms = {
  plan: null,
  requestsPerMinute: 60,
  concurrency: 3,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};
const withoutPlan = { requestsPerMinute: 61, concurrency: 4 };
const one = period('one', START, END, 10);
const two = (start: number, end = 9_000_000): Period => period('two', start, end, 20);

/** Expected period and slots, and the span in which they apply. */
test.each<[string, AccountTerms, number, string | null, number, number, number]>([
  ['no plan', NONE, 5, null, 3, 0, Infinity],
  ['before the only one', one, START - 1, null, 10, 0, START],
  ['its first millisecond', one, START, 'one', 10, START, END],
  ['its last millisecond', one, END - 1, 'one', 10, START, END],
  ['at its end', one, END, null, 10, END, Infinity],
  ['at its end, with what holds then', { ...one, withoutPlan }, END, null, 4, END, Infinity],
  ['before it, with what holds then', { ...one, withoutPlan }, START - 1, null, 4, 0, START],
  ['last millisecond before a next one', { ...one, next: two(END) }, END - 1, 'one', 10, START, END],
  ['first millisecond of a next one', { ...one, next: two(END) }, END, 'two', 20, END, 9_000_000],
  ['last millisecond of a next one', { ...one, next: two(END), withoutPlan }, 8_999_999, 'two', 20, END, 9_000_000],
  ['at the end of a next one', { ...one, next: two(END), withoutPlan }, 9_000_000, null, 4, 9_000_000, Infinity],
  ['first millisecond of a gap', { ...one, next: two(LATER), withoutPlan }, END, null, 4, END, LATER],
  ['last millisecond of a gap', { ...one, next: two(LATER), withoutPlan }, LATER - 1, null, 4, END, LATER],
  ['at the end of a gap', { ...one, next: two(LATER), withoutPlan }, LATER, 'two', 20, LATER, 9_000_000],
  ['no plan before a next one', { ...NONE, next: two(LATER) }, LATER - 1, null, 3, 0, LATER],
  ['no plan, then a next one', { ...NONE, next: two(LATER) }, LATER, 'two', 20, LATER, 9_000_000],
  ['a next one that cuts the first', { ...one, next: two(1_500_000) }, 1_499_999, 'one', 10, START, 1_500_000],
  ['a first one that was cut', { ...one, next: two(1_500_000) }, 1_500_000, 'two', 20, 1_500_000, 9_000_000],
  [
    'a cut that does not come back',
    { ...one, next: two(1_500_000, 1_600_000) },
    1_700_000,
    null,
    20,
    1_600_000,
    Infinity,
  ],
  ['a next one that began before the first', { ...one, next: two(500_000) }, START, 'two', 20, 500_000, 9_000_000],
])('terms in effect: %s', (_case, terms, now, id, concurrency, from, until) => {
  const span = findTermsAt(terms, now);
  expect({ ...span, terms: { id: span.terms.subscription?.id ?? null, slots: span.terms.concurrency } }).toEqual({
    from,
    until,
    terms: { id, slots: concurrency },
  });
  expect(span.terms.plan?.id ?? null).toBe(id && `plan-${id}`);
  if (id === null) expect(span.terms.models).toEqual([]);
  expect(span.terms).not.toHaveProperty('next');
});

test('the spans of any terms cover all time and are the same objects each time', () => {
  const terms = { ...one, next: two(LATER), withoutPlan };
  const starts: number[] = [];
  for (let now = 0; now < Infinity; now = findTermsAt(terms, now).until) starts.push(findTermsAt(terms, now).from);
  expect(starts).toEqual([0, START, END, LATER, 9_000_000]);
  expect(findTermsAt(terms, START).terms).toBe(findTermsAt(terms, END - 1).terms);
  expect(() => findTermsAt(terms, NaN)).toThrow(RangeError);
});
