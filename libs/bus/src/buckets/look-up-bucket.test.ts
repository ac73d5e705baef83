import { systemClock } from '@gateway/service-kit';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { faultCode, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../../test/bus-world.js';
import type { Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

const WAIT_MS = 5_000;
const SETTINGS = { name: 'notes', ageMaxMs: 3_600_000, bytesMax: 1024 * 1024 };

let world: BusWorld;
let one: Bus;
let other: Bus;

beforeEach(async () => {
  world = await startBusWorld();
  [one, other] = await Promise.all([world.connect('edge-proxy'), world.connect('edge-proxy')]);
});
afterEach(() => world.stop());

test('an entry of one process is found by another, other keys are not', async () => {
  const [writing, reading] = [one.lookUpBucket(SETTINGS), other.lookUpBucket(SETTINGS)];
  expect(await reading.get('a', WAIT_MS)).toBeNull();
  await writing.put('a', 'first ü', WAIT_MS);
  await writing.put('b.c d', '', WAIT_MS);
  expect(await reading.get('a', WAIT_MS)).toBe('first ü');
  expect(await reading.get('b.c d', WAIT_MS)).toBe('');
  await writing.put('a', 'second', WAIT_MS);
  expect(await reading.get('a', WAIT_MS)).toBe('second');
  expect(await reading.get('other', WAIT_MS)).toBeNull();
});

test('a full bucket drops its oldest entries', async () => {
  const bucket = one.lookUpBucket({ ...SETTINGS, bytesMax: 8 * 1024 });
  for (let at = 0; at < 100; at += 1) await bucket.put(`key-${at}`, 'x'.repeat(100), WAIT_MS);
  expect(await bucket.get('key-0', WAIT_MS)).toBeNull();
  expect(await bucket.get('key-99', WAIT_MS)).toBe('x'.repeat(100));
});

test('a bucket with entriesMax keeps its entries and rejects others', async () => {
  const bucket = one.lookUpBucket({ ...SETTINGS, entriesMax: 3 });
  for (const key of ['a', 'b', 'c']) await bucket.put(key, 'x', WAIT_MS);
  expect(await faultCode(bucket.put('d', 'x', WAIT_MS))).toBe('stream_full');
  expect([await bucket.get('a', WAIT_MS), await bucket.entries(WAIT_MS)]).toEqual(['x', 3]);
});

test('getFromLeader() returns a new entry at once and null for other keys', async () => {
  await one.lookUpBucket(SETTINGS).put('a', 'ü', WAIT_MS);
  const bucket = other.lookUpBucket(SETTINGS);
  expect([await bucket.getFromLeader('a', WAIT_MS), await bucket.getFromLeader('b', WAIT_MS)]).toEqual(['ü', null]);
});

test('an entry expires after ageMaxMs', async () => {
  const bucket = one.lookUpBucket({ ...SETTINGS, ageMaxMs: 200 });
  await bucket.put('a', 'b', WAIT_MS);
  await until('it has gone', async () => (await bucket.get('a', WAIT_MS)) === null);
});

test('one of two concurrent replace() calls succeeds, the other gets conflict', async () => {
  const [first, second] = [one.lookUpBucket(SETTINGS), other.lookUpBucket(SETTINGS)];
  expect(await first.read('a', WAIT_MS)).toBeNull();
  const made = await Promise.allSettled([first.replace('a', '1', 0, WAIT_MS), second.replace('a', '2', 0, WAIT_MS)]);
  expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const entry = await second.read('a', WAIT_MS);
  const revision = entry?.revision ?? 0;
  expect(revision).toBeGreaterThan(0);
  await second.replace('a', '3', revision, WAIT_MS);
  expect(await faultCode(first.replace('a', '4', revision, WAIT_MS))).toBe('conflict');
  expect(await faultCode(first.replace('a', '4', 0, WAIT_MS))).toBe('conflict');
  // Revisions count per entry.
  await first.replace('b', '5', 0, WAIT_MS);
  expect([await first.get('a', WAIT_MS), await first.get('b', WAIT_MS)]).toEqual(['3', '5']);
});

test('an expired entry is replaced like one that never existed', async () => {
  const bucket = one.lookUpBucket({ ...SETTINGS, ageMaxMs: 200 });
  await bucket.replace('a', '1', 0, WAIT_MS);
  await until('it has gone', async () => (await bucket.read('a', WAIT_MS)) === null);
  // From here on entries live longer, so that the new one still exists when it is read.
  const keeping = one.lookUpBucket(SETTINGS);
  await keeping.replace('a', '2', 0, WAIT_MS);
  expect(await keeping.get('a', WAIT_MS)).toBe('2');
});

test('put() and get() fail at once without the server and work after its return', async () => {
  const bucket = one.lookUpBucket(SETTINGS);
  await bucket.put('a', 'b', WAIT_MS);
  await world.restart({});
  await until('it works again', async () => (await bucket.get('a', WAIT_MS).catch(() => null)) === 'b');
  expect(await faultCode(bucket.put('', 'b', WAIT_MS))).toBe('too_large');
});

test('a server that has lost its data gets the bucket again', async () => {
  // The server does not reply to a read of a missing bucket, so this test needs a short timeout.
  const impatient = await world.connect('edge-proxy', { clock: systemClock });
  const bucket = impatient.lookUpBucket(SETTINGS);
  await bucket.put('a', 'b', WAIT_MS);
  await world.restart({ emptyState: true });
  await until('it is there', () =>
    bucket.get('a', 300).then(
      (value) => value === null,
      () => false,
    ),
  );
  await bucket.put('a', 'c', WAIT_MS);
  expect(await other.lookUpBucket(SETTINGS).get('a', WAIT_MS)).toBe('c');
});

test('a service without permissions for a bucket gets forbidden', async () => {
  const admission = await world.connect('admission');
  expect(await faultCode(admission.lookUpBucket(SETTINGS).get('a', WAIT_MS))).toBe('forbidden');
});
