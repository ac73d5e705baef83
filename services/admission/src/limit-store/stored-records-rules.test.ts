import { expect, test } from '@jest/globals';
import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { readStoredKey, readStoredTerms, storeKey, storeTerms } from './stored-records-rules.js';

const usual: KeyRecord = {
  account: 'a',
  key: 'k',
  member: 'm',
  kind: 'api',
  digest: '00ff'.repeat(16),
  state: 'active',
  version: 7,
  expiresAt: null,
  capNanoUsd: null,
  ...NO_KEY_TERMS,
};
const CHANGES: readonly Partial<KeyRecord>[] = [
  {},
  { kind: 'playground' },
  { state: 'revoked' },
  { expiresAt: 1 },
  { capNanoUsd: 0 },
  { allowedModels: [] },
  { kind: 'playground', state: 'suspended', expiresAt: 5, capNanoUsd: 9, allowedModels: ['acme/fixed'] },
];

test('a key record is read as it was stored, with any usual values', () => {
  for (const change of CHANGES) {
    const record = { ...usual, ...change };
    expect(readStoredKey(storeKey(record), 'a', 'k')).toEqual(record);
  }
});

test('a revoked key is stored without its terms', () => {
  const record: KeyRecord = { ...usual, state: 'revoked', allowedModels: Array<string>(500).fill('acme/fixed') };
  expect(storeKey(record).length).toBeLessThan(200);
  expect(readStoredKey(storeKey(record), 'a', 'k')).toEqual({ ...record, allowedModels: null });
});

test('a usual key is stored without its usual values', () => {
  expect(JSON.parse(storeKey(usual))).toEqual(['m', Buffer.from(usual.digest, 'hex').toString('base64url'), 7]);
});

const PERIOD = { id: 'sub-0', start: 1_000, end: 2_000 };
const PLAN: AccountTerms = {
  plan: { id: 'flat', name: 'Flat', tier: 'flat' },
  requestsPerMinute: 60,
  concurrency: 3,
  models: null,
  windows: [{ type: 'weekly', unit: 'requests', limit: 5, label: 'week' }],
  allotments: [],
  subscription: PERIOD,
};
/** The terms of account `n` on one plan. They include the running and the next period. */
function renewing(n: number): AccountTerms {
  const period = (id: string, start: number) => ({ id: `${id}-${n}`, start, end: start + 1_000 });
  const next = { ...PLAN, subscription: period('next', 2_000 + n) };
  return { ...PLAN, subscription: period('sub', 1_000 + n), next };
}

test('terms are read as they were stored, with and without periods', () => {
  for (const terms of [
    PLAN,
    renewing(1),
    { ...PLAN, plan: null, subscription: null },
    { ...renewing(2), subscription: null },
  ]) {
    const { text, period } = storeTerms(terms);
    expect(readStoredTerms(text, period)).toEqual(terms);
  }
});

test('accounts of one plan share one text, even with known next periods', () => {
  expect(new Set(Array.from({ length: 20 }, (_unused, n) => storeTerms(renewing(n)).id)).size).toBe(1);
});
