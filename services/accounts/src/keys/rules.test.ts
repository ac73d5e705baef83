import { expect, test } from '@jest/globals';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { keyState, KEY_VERBS, rotated, stateAfter, withState } from './rules.js';
import type { ApiKey } from '../base/rules.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = {
  id: 'key_1',
  account: 'acc_1',
  member: 'mem_1',
  kind: 'api',
  name: 'A key',
  digest: 'a'.repeat(64),
  maskedSecret: 'mgw_live_0123…cdef',
  state: 'active',
  expiresAt: null,
  capNanoUsd: 5n,
  ...NO_KEY_TERMS,
  version: 3,
  createdAt: NOW - 1_000,
  lastUsedAt: null,
  externalId: null,
};

test.each([
  ['active', null, 'active'],
  ['active', NOW + 1, 'active'],
  ['active', NOW, 'expired'],
  ['suspended', NOW + 1, 'suspended'],
  ['suspended', NOW - 1, 'expired'],
  ['revoked', NOW - 1, 'revoked'],
  ['revoked', null, 'revoked'],
] as const)('a key that is %s with expiry %s is %s', (state, expiresAt, expected) => {
  expect(keyState({ state, expiresAt }, NOW)).toBe(expected);
});

test('stateAfter() covers the whole table of transitions', () => {
  const table = Object.fromEntries(
    KEY_VERBS.map((verb) => [
      verb,
      (['active', 'suspended', 'revoked', 'expired'] as const).map((state) => stateAfter(verb, state)),
    ]),
  );
  expect(table).toEqual({
    rotate: ['active', null, null, null],
    revoke: ['revoked', 'revoked', 'revoked', null],
    suspend: ['suspended', 'suspended', null, null],
    reinstate: ['active', 'active', null, null],
  });
});

test('rotated() replaces only the secret and the version', () => {
  const secret = { digest: 'b'.repeat(64), maskedSecret: 'mgw_live_4567…89ab' };
  expect(rotated(KEY, secret, NOW)).toEqual({ ...KEY, ...secret, version: NOW });
  expect(rotated({ ...KEY, state: 'suspended' }, secret, NOW)).toBeNull();
  expect(rotated({ ...KEY, expiresAt: NOW }, secret, NOW)).toBeNull();
});

test('withState() raises the version only if the state changes', () => {
  expect(withState(KEY, 'suspend', NOW)).toEqual({ ...KEY, state: 'suspended', version: NOW });
  expect(withState(KEY, 'reinstate', NOW)).toBe(KEY);
  const revoked: ApiKey = { ...KEY, state: 'revoked' };
  expect(withState(revoked, 'revoke', NOW)).toBe(revoked);
  expect(withState(revoked, 'reinstate', NOW)).toBeNull();
  expect(withState({ ...KEY, state: 'suspended', expiresAt: NOW }, 'reinstate', NOW)).toBeNull();
});
