import { expect, test } from '@jest/globals';
import {
  bucketOfAccount,
  digestOfSecret,
  hasKeyForm,
  makeSecret,
  makeUuidV7,
  maskSecret,
  secretFrom,
  shardOfAccount,
  shardOfBucket,
  usageGroupOfShard,
  timeOfUuidV7,
  UUID_PATTERN,
} from './index.js';

test('a new secret has the key form and its mask hides the secret', () => {
  const secret = makeSecret('mgw_live_');
  expect(secret).toMatch(/^mgw_live_[0-9a-f]{48}$/);
  expect(hasKeyForm(secret, ['mgw_live_'])).toBe(true);
  expect(maskSecret(secret)).toBe(`${secret.slice(0, 13)}…${secret.slice(-4)}`);
  expect(makeSecret('mgw_live_')).not.toBe(secret);
});

test('the last eight characters are the CRC-32 of the forty before them (pinned)', () => {
  expect(secretFrom('mgw_live_', '0123456789'.repeat(4))).toBe(`mgw_live_${'0123456789'.repeat(4)}a6463c49`);
});

test('a key with a changed character or two swapped neighbors has an invalid form', () => {
  const secret = makeSecret('mgw_live_');
  for (let at = 'mgw_live_'.length; at < secret.length; at += 1) {
    const other = secret[at] === '0' ? '1' : '0';
    expect(hasKeyForm(secret.slice(0, at) + other + secret.slice(at + 1), ['mgw_live_'])).toBe(false);
    const swapped = secret.slice(0, at) + (secret[at + 1] ?? '') + (secret[at] ?? '') + secret.slice(at + 2);
    if (swapped !== secret) expect(hasKeyForm(swapped, ['mgw_live_'])).toBe(false);
  }
});

const hex = secretFrom('', 'a'.repeat(40));
test.each([
  [`mgw_live_${hex}`, true],
  [`old_live_${hex}`, true],
  [`mgw_live_${'a'.repeat(48)}`, false],
  [`mgw_live_${hex}0`, false],
  [`mgw_live_${hex.slice(1)}`, false],
  [`mgw_live_${hex.toUpperCase()}`, false],
  [`mgw_live_${hex.slice(1)}g`, false],
  [`mgw_test_${hex}`, false],
  [` mgw_live_${hex}`, false],
  [`mgw_live_${hex}\n`, false],
  ['', false],
])('hasKeyForm(%j) returns %p', (text, expected) => {
  expect(hasKeyForm(text, ['mgw_live_', 'old_live_'])).toBe(expected);
});

test('the digest depends on secret and pepper', () => {
  expect(digestOfSecret('s', 'pepper')).toMatch(/^[0-9a-f]{64}$/);
  expect(digestOfSecret('s', 'pepper')).not.toBe(digestOfSecret('s', 'other'));
  expect(digestOfSecret('s', 'pepper')).not.toBe(digestOfSecret('t', 'pepper'));
});

test('IDs are UUIDv7 of the given time and never repeat', () => {
  const now = Date.UTC(2026, 10, 20, 12);
  const ids = Array.from({ length: 2_000 }, () => makeUuidV7(now));
  for (const id of ids) {
    expect(id).toMatch(UUID_PATTERN);
    expect(timeOfUuidV7(id)).toBe(now);
  }
  expect(new Set(ids).size).toBe(2_000);
});

test('buckets and shards are the CRC32 of the account ID (pinned)', () => {
  expect(bucketOfAccount('acc_1')).toBe(213);
  expect(bucketOfAccount('')).toBe(0);
  expect([0, 63, 64, 255].map(shardOfBucket)).toEqual([0, 0, 1, 3]);
  expect(shardOfAccount('acc_1')).toBe(shardOfBucket(bucketOfAccount('acc_1')));
});

test.each([
  [1, [0, 0, 0, 0]],
  [2, [0, 0, 1, 1]],
  [4, [0, 1, 2, 3]],
])('%i groups of shards use the first subjects of the journal', (groups, subjects) => {
  expect([0, 1, 2, 3].map((shard) => usageGroupOfShard(shard, groups))).toEqual(subjects);
});
