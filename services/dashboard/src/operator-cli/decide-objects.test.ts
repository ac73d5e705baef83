import { expect, test } from '@jest/globals';
import { ACCOUNT, KEY, SUBSCRIPTION } from '../../test/examples.js';
import { decideAccount, decideKey, decideLimits, decideSubscription, type Decision } from './decide-objects.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const ACCOUNT_SPEC = { name: ACCOUNT.name, email: ACCOUNT.email, emailVerified: true, type: ACCOUNT.type };
const KEY_SPEC = { name: KEY.name, monthlySpendCapUsd: '12.50', allowedModels: ['pub/model'] };
/** A period of one month that began `months` ago. */
const period = (months: number) => ({
  periodStart: new Date(Date.UTC(2026, 10 - months, 1)).toISOString(),
  periodEnd: new Date(Date.UTC(2026, 11 - months, 1)).toISOString(),
});
const PLAN = { planId: 'pro', renews: true, ...period(0) };
const STORED = { ...SUBSCRIPTION, ...PLAN };
const textOf = (decision: Decision): string => ('problem' in decision ? decision.problem : decision.change);

test.each<[string, object, object | null, string | RegExp]>([
  ['a new account', {}, null, 'created'],
  ['an equal account', {}, {}, 'unchanged'],
  ['an address in another case', { email: 'Ada@Example.com' }, {}, 'unchanged'],
  ['an address verified since', { emailVerified: false }, {}, 'unchanged'],
  ['another name and type', { name: 'B', type: 'team' }, {}, /^name, type: differs.*another ID/],
  ['a suspension by hand without a state', {}, { state: 'suspended' }, 'unchanged'],
  ['a suspension by hand with a state', { state: 'active' }, { state: 'suspended' }, 'changed'],
  ['a closed account', {}, { state: 'closed', name: 'erased' }, /^the account is closed/],
])('decideAccount(): %s', (_name, wanted, stored, expected) => {
  const decision = decideAccount({ ...ACCOUNT_SPEC, ...wanted }, stored && { ...ACCOUNT, ...stored });
  expect(textOf(decision)).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
});

test.each<[string, object, object | null, string | RegExp]>([
  ['the first period', {}, null, 'created'],
  ['the same period', {}, {}, 'unchanged'],
  ['a renewed period', period(3), {}, 'unchanged'],
  ['another plan', { planId: 'team' }, {}, 'changed'],
  ['no renewal any more', { renews: false }, {}, 'changed'],
  ['a subscription that ended by hand', period(3), null, /give the current period/],
  ['a period that is over and did not renew', { ...period(3), renews: false }, null, 'unchanged'],
  [
    'a period that is over, and another subscription',
    { ...period(3), renews: false },
    {},
    /another subscription \(pro\)/,
  ],
  ['a period after the running one', period(-1), {}, /apply the file again/],
  ['a coming period without a running one', period(-1), period(-1), 'unchanged'],
])('decideSubscription(): %s', (_name, wanted, stored, expected) => {
  expect(textOf(decideSubscription({ ...PLAN, ...wanted }, stored && { ...STORED, ...stored }, NOW))).toEqual(
    typeof expected === 'string' ? expected : expect.stringMatching(expected),
  );
});

test('decideSubscription() puts another plan into the period of a renewed subscription', () => {
  const decision = decideSubscription({ ...PLAN, ...period(3), planId: 'team' }, STORED, NOW);
  expect(decision).toMatchObject({ change: 'changed', after: { planId: 'team', renews: true, ...period(0) } });
});

test('decideLimits() treats absent and null limits as equal', () => {
  expect(decideLimits({ concurrency: 4, maxActiveKeys: null }, { concurrency: 4 })).toEqual({ change: 'unchanged' });
  expect(decideLimits({}, { concurrency: 4 })).toMatchObject({
    change: 'changed',
    before: { concurrency: 4 },
    after: {},
  });
});

test.each<[string, object, object | null, string | RegExp]>([
  ['a new key', {}, null, 'created'],
  ['a new key that is revoked already', { state: 'revoked' }, null, 'unchanged'],
  ['an equal key', {}, {}, 'unchanged'],
  ["the plan's default cap", { monthlySpendCapUsd: null }, {}, 'unchanged'],
  ['another order of models', { allowedModels: ['b/b', 'a/a', 'b/b'] }, { allowedModels: ['a/a', 'b/b'] }, 'unchanged'],
  ['an empty list of models', { allowedModels: [] }, { allowedModels: null }, 'unchanged'],
  ['another cap', { monthlySpendCapUsd: '13' }, {}, /^monthlySpendCapUsd: differs.*another ID/],
  [
    'other terms',
    { name: 'B', allowedModels: null, expiresAt: '2027-01-01T00:00:00Z', memberId: 'mem_2' },
    {},
    /^name, memberId, allowedModels, expiresAt: differs/,
  ],
  ['a suspension', { state: 'suspended' }, {}, 'changed'],
  ['a revocation by hand without a state', {}, { state: 'revoked' }, 'unchanged'],
  ['a revocation by hand with a state', { state: 'active' }, { state: 'revoked' }, /^the key is revoked/],
  ['an expired key that is revoked', { state: 'revoked' }, { state: 'expired' }, 'unchanged'],
])('decideKey(): %s', (_name, wanted, stored, expected) => {
  expect(textOf(decideKey({ ...KEY_SPEC, ...wanted }, stored && { ...KEY, ...stored }))).toEqual(
    typeof expected === 'string' ? expected : expect.stringMatching(expected),
  );
});
