import { expect, test } from '@jest/globals';
import { decideNewKey, type KeyInput } from './new-key-rules.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const SPEC = { name: 'A key' };
const FACTS: KeyInput = {
  account: { id: 'acc_1', name: 'A', type: 'personal', state: 'active', version: 1, createdAt: NOW, externalId: null },
  membership: {
    member: {
      id: 'mem_1',
      account: 'acc_1',
      user: 'usr_1',
      role: 'owner',
      capNanoUsd: null,
      version: 1,
      createdAt: NOW,
    },
    user: { id: 'usr_1', email: 'a@example.com', emailVerified: true },
  },
  activeKeys: 2,
  funding: { walletNanoUsd: null, planActive: true, activeKeysMax: 3, defaultKeyCapNanoUsd: null, inLedger: true },
};
const UNVERIFIED: Partial<KeyInput> = {
  membership: FACTS.membership && { ...FACTS.membership, user: { ...FACTS.membership.user, emailVerified: false } },
};
const funding = (more: Partial<KeyInput['funding']>): Partial<KeyInput> => ({ funding: { ...FACTS.funding, ...more } });
const decide = (input: Partial<KeyInput> = {}, spec: Parameters<typeof decideNewKey>[0] = SPEC) =>
  decideNewKey(spec, { ...FACTS, ...input }, NOW);
const code = (answer: object) => ('refused' in answer ? (answer.refused as { code: string }).code : 'accepted');

test.each<[string, Partial<KeyInput>, string]>([
  ['all conditions met', {}, 'accepted'],
  ['no such account', { account: null, membership: null }, 'not_found'],
  ['no such member', { membership: null }, 'not_found'],
  ['a suspended account', { account: FACTS.account && { ...FACTS.account, state: 'suspended' } }, 'state_conflict'],
  ['an address that is not verified', UNVERIFIED, 'email_not_verified'],
  ['neither plan nor wallet', funding({ planActive: false }), 'no_funding'],
  ['an empty wallet', funding({ planActive: false, walletNanoUsd: 0n }), 'no_funding'],
  ['a negative wallet and a plan', funding({ walletNanoUsd: -1n }), 'accepted'],
  ['a positive wallet', funding({ planActive: false, walletNanoUsd: 1n }), 'accepted'],
  ['as many keys as allowed', { activeKeys: 3 }, 'key_limit_reached'],
  ['a plan without keys', { activeKeys: 0, ...funding({ activeKeysMax: 0 }) }, 'key_limit_reached'],
  [
    'several failures: the address first',
    { ...UNVERIFIED, ...funding({ planActive: false }), activeKeys: 9 },
    'email_not_verified',
  ],
  ['several failures: then the funds', { ...funding({ planActive: false }), activeKeys: 9 }, 'no_funding'],
])('a new key: %s', (_name, input, expected) => {
  expect(code(decide(input))).toBe(expected);
});

test("a key without a cap gets the plan's default, unless that is zero", () => {
  const cap = (monthlySpendCapUsd: string | null | undefined, defaultKeyCapNanoUsd: bigint | null) =>
    decide(funding({ defaultKeyCapNanoUsd }), { ...SPEC, monthlySpendCapUsd });
  expect(cap(undefined, 7n)).toMatchObject({ capNanoUsd: 7n });
  expect(cap(null, 7n)).toMatchObject({ capNanoUsd: 7n });
  expect(cap(null, null)).toMatchObject({ capNanoUsd: null });
  expect(cap(null, 0n)).toMatchObject({ capNanoUsd: null });
  expect(cap('12.50', 7n)).toMatchObject({ capNanoUsd: 12_500_000_000n });
});

test('an empty list allows all models, and a repeated model is listed once', () => {
  expect(decide({}, { ...SPEC, allowedModels: [] })).toMatchObject({ allowedModels: null });
  expect(decide({}, { ...SPEC, allowedModels: null })).toMatchObject({ allowedModels: null });
  expect(decide({}, { ...SPEC, allowedModels: ['a/b', 'a/c', 'a/b'] })).toMatchObject({
    allowedModels: ['a/b', 'a/c'],
  });
});

test('an expiry must be in the future', () => {
  expect(decide({}, { ...SPEC, expiresAt: '2026-11-20T12:00:00.001Z' })).toMatchObject({ expiresAt: NOW + 1 });
  expect(decide({}, { ...SPEC, expiresAt: '2026-11-20T12:00:00Z' })).toMatchObject({
    refused: { code: 'invalid_request', param: 'expiresAt' },
  });
});
