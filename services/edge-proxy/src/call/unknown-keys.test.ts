import { expect, test } from '@jest/globals';
import { UnknownKeys } from './unknown-keys.js';

const make = (): UnknownKeys =>
  new UnknownKeys({ GATEWAY_EDGE_UNKNOWN_KEYS: 3, GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: 2 });

/**
 * Three keys of network `a` were asked for; what came of them, and what the network may do then.
 */
const CASES: readonly [name: string, after: (keys: UnknownKeys) => void, waits: (number | null)[]][] = [
  ['nothing is known of them yet', () => undefined, [30, 30]],
  ['one is presented again and again', (keys) => again(keys, 'k1', 100), [30, 30]],
  ['one is confirmed', (keys) => keys.confirmed('k1'), [null, 30]],
  ['one is confirmed twice', (keys) => [keys.confirmed('k1'), keys.confirmed('k1')], [null, 30]],
  ['one is somebody, but may not call', (keys) => keys.exempt('k1'), [null, 30]],
  ['one is somebody, and is said so twice', (keys) => [keys.exempt('k1'), keys.exempt('k1')], [null, 30]],
  ['one is somebody, and presented from then on', (keys) => [keys.exempt('k1'), again(keys, 'k1', 100)], [null, 30]],
  ['two are confirmed', (keys) => [keys.confirmed('k1'), keys.confirmed('k2')], [null, null]],
  ['a key that was never asked for is confirmed', (keys) => keys.confirmed('other'), [30, 30]],
  ['a key that was never asked for is somebody', (keys) => keys.exempt('other'), [30, 30]],
];

test.each(CASES)('%s', (_name, after, waits) => {
  const keys = make();
  expect(['k1', 'k2', 'k3'].map((digest) => keys.ask('a', digest, 0))).toEqual([null, null, null]);
  after(keys);
  expect(['n1', 'n2'].map((digest) => keys.ask('a', digest, 0))).toEqual(waits);
  expect(['n3', 'n4', 'n5'].map((digest) => keys.ask('b', digest, 0))).toEqual([null, null, null]);
});

test('tokens come back with time, and the wait says when', () => {
  const keys = make();
  for (const digest of ['k1', 'k2', 'k3']) keys.ask('a', digest, 0);
  expect([keys.ask('a', 'n1', 0), keys.ask('a', 'n1', 29_500), keys.ask('a', 'n1', 30_000)]).toEqual([30, 1, null]);
  expect([keys.ask('a', 'n1', 30_000), keys.ask('a', 'n2', 30_000)]).toEqual([null, 30]);
});

test('a secret that was in use and rotated away takes nothing, also with no token left', () => {
  const keys = make();
  for (let number = 0; number < 100; number += 1) {
    keys.exempt(`old-${number}`);
    expect(keys.ask('a', `old-${number}`, 0)).toBeNull();
  }
  expect(['k1', 'k2', 'k3', 'k4'].map((digest) => keys.ask('a', digest, 0))).toEqual([null, null, null, 30]);
  expect(keys.ask('a', 'old-0', 0)).toBeNull();
});

test('no client is told to wait for more than the minute of the contract', () => {
  const keys = new UnknownKeys({ GATEWAY_EDGE_UNKNOWN_KEYS: 1, GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: 1 });
  expect([keys.ask('a', 'k1', 0), keys.ask('a', 'k2', 0)]).toEqual([null, 60]);
});

test('however many keys and networks there are, a bounded number of digests is remembered: the latest', () => {
  const keys = make();
  for (let number = 0; number < 50_000; number += 1) keys.ask(`network-${number}`, `digest-${number}`, 0);
  expect(keys.size).toBe(20_000);
  for (const digest of ['x', 'y', 'z']) keys.ask('c', digest, 0);
  expect([keys.ask('c', 'digest-49999', 0), keys.ask('c', 'digest-0', 0)]).toEqual([null, 30]);
});

function again(keys: UnknownKeys, digest: string, times: number): void {
  for (let time = 0; time < times; time += 1) expect(keys.ask('a', digest, 0)).toBeNull();
}
