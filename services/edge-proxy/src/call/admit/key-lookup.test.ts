import { expect, test } from '@jest/globals';
import { KnownKeys, UnknownKeys } from './key-lookup.js';

const make = (): UnknownKeys =>
  new UnknownKeys({ GATEWAY_EDGE_UNKNOWN_KEYS: 3, GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: 2 });

/** Cases after three lookups of network `a`, and the waits of the network after each. */
const CASES: readonly [name: string, after: (keys: UnknownKeys) => void, waits: (number | null)[]][] = [
  ['before any reply the network must wait', () => undefined, [30, 30]],
  ['a repeated key takes no further unit', (keys) => again(keys, 'k1', 100), [30, 30]],
  ['a confirmed key returns its unit', (keys) => keys.confirmed('k1'), [null, 30]],
  ['a key confirmed twice returns one unit', (keys) => [keys.confirmed('k1'), keys.confirmed('k1')], [null, 30]],
  ['an exempt key returns its unit', (keys) => keys.exempt('k1'), [null, 30]],
  ['a key exempted twice returns one unit', (keys) => [keys.exempt('k1'), keys.exempt('k1')], [null, 30]],
  ['a repeated exempt key takes no unit', (keys) => [keys.exempt('k1'), again(keys, 'k1', 100)], [null, 30]],
  ['two confirmed keys return two units', (keys) => [keys.confirmed('k1'), keys.confirmed('k2')], [null, null]],
  ['a confirmed key without a lookup returns nothing', (keys) => keys.confirmed('other'), [30, 30]],
  ['an exempt key without a lookup returns nothing', (keys) => keys.exempt('other'), [30, 30]],
];

test.each(CASES)('%s', (_name, after, waits) => {
  const keys = make();
  expect(['k1', 'k2', 'k3'].map((digest) => keys.ask('a', digest, 0))).toEqual([null, null, null]);
  after(keys);
  expect(['n1', 'n2'].map((digest) => keys.ask('a', digest, 0))).toEqual(waits);
  expect(['n3', 'n4', 'n5'].map((digest) => keys.ask('b', digest, 0))).toEqual([null, null, null]);
});

test('ask() allows a lookup again after the returned wait', () => {
  const keys = make();
  for (const digest of ['k1', 'k2', 'k3']) keys.ask('a', digest, 0);
  expect([keys.ask('a', 'n1', 0), keys.ask('a', 'n1', 29_500), keys.ask('a', 'n1', 30_000)]).toEqual([30, 1, null]);
  expect([keys.ask('a', 'n1', 30_000), keys.ask('a', 'n2', 30_000)]).toEqual([null, 30]);
});

test('ask() allows a rotated secret even if the network has no units left', () => {
  const keys = make();
  for (let number = 0; number < 100; number += 1) {
    keys.exempt(`old-${number}`);
    expect(keys.ask('a', `old-${number}`, 0)).toBeNull();
  }
  expect(['k1', 'k2', 'k3', 'k4'].map((digest) => keys.ask('a', digest, 0))).toEqual([null, null, null, 30]);
  expect(keys.ask('a', 'old-0', 0)).toBeNull();
});

test('ask() returns a wait of at most 60 seconds', () => {
  const keys = new UnknownKeys({ GATEWAY_EDGE_UNKNOWN_KEYS: 1, GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: 1 });
  expect([keys.ask('a', 'k1', 0), keys.ask('a', 'k2', 0)]).toEqual([null, 60]);
});

test('a limited number of digests is remembered: the latest ones', () => {
  const keys = make();
  for (let number = 0; number < 50_000; number += 1) keys.ask(`network-${number}`, `digest-${number}`, 0);
  expect(keys.size).toBe(20_000);
  for (const digest of ['x', 'y', 'z']) keys.ask('c', digest, 0);
  expect([keys.ask('c', 'digest-49999', 0), keys.ask('c', 'digest-0', 0)]).toEqual([null, 30]);
});

function again(keys: UnknownKeys, digest: string, times: number): void {
  for (let time = 0; time < times; time += 1) expect(keys.ask('a', digest, 0)).toBeNull();
}

test('a confirmed key is known until it is refused', () => {
  const keys = new KnownKeys();
  expect([keys.accountOf('a'), keys.refused('a')]).toEqual([null, false]);
  keys.confirmed('a', 'acme');
  expect([keys.accountOf('a'), keys.refused('a'), keys.accountOf('a'), keys.refused('a')]).toEqual([
    'acme',
    true,
    null,
    false,
  ]);
});

test('a limited number of keys is remembered: those confirmed last', () => {
  const keys = new KnownKeys();
  for (let number = 0; number < 50_000; number += 1) {
    keys.confirmed(`digest-${number}`, 'acme');
    keys.confirmed('in use', 'globex');
  }
  expect(keys.size).toBeLessThanOrEqual(20_000);
  expect([keys.accountOf('digest-49999'), keys.accountOf('digest-0'), keys.accountOf('in use')]).toEqual([
    'acme',
    null,
    'globex',
  ]);
  expect([keys.refused('in use'), keys.accountOf('in use')]).toEqual([true, null]);
});
