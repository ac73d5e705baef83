import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  HEARTBEATS_SETTINGS,
  faultCode,
  startBusWorld,
  TEST_TIMEOUT_MS,
  until,
  type BusWorld,
} from '../../test/bus-world.js';
import { pulse } from '../../test/messages.js';
import type { Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
let edge: Bus;
let admission: Bus;

beforeAll(async () => {
  world = await startBusWorld();
  [edge, admission] = await Promise.all([world.connect('edge-proxy'), world.connect('admission')]);
});
afterAll(() => world.stop());

function stored(name: string, n: number): Promise<unknown> {
  return edge.store(pulse, { edge: name }, { n });
}

test('lastPerSubject() reads the last message of each subject over several batches', async () => {
  expect(await faultCode(admission.lastPerSubject('HEARTBEATS', 'test.pulse.*'))).toBe('stream_missing');
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  expect(await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*')).toEqual([]);
  for (const n of [1, 2]) {
    await Promise.all(Array.from({ length: 600 }, (_, edgeNumber) => stored(`e${edgeNumber}`, n * edgeNumber)));
  }
  const last = await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*');
  const bodies = last.map(({ subject, data }) => [subject, admission.decode(pulse, data)]);
  expect(new Map(bodies as [string, unknown][])).toEqual(
    new Map(Array.from({ length: 600 }, (_, n) => [`test.pulse.e${n}`, { ok: true, body: { n: 2 * n } }])),
  );
  expect(last).toHaveLength(600);
  expect(last.every(({ storedAtMs, sequence }) => sequence > 600 && Math.abs(Date.now() - storedAtMs) < 60_000)).toBe(
    true,
  );
});

test('headersOnly leaves bodies out, and a purge keeps newer and other messages', async () => {
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  await Promise.all(['h1', 'h2'].map((name) => stored(name, 1)));
  const marks = await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*', { headersOnly: true });
  const own = marks.filter(({ subject }) => subject.startsWith('test.pulse.h'));
  expect(own.map(({ data }) => data.length)).toEqual([0, 0]);
  expect(own.every(({ sequence, storedAtMs }) => sequence > 0 && Math.abs(Date.now() - storedAtMs) < 60_000)).toBe(
    true,
  );
  const names = async (): Promise<string[]> =>
    (await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*')).map(({ subject }) => subject);
  const [first] = own.map(({ sequence }) => sequence);
  await stored('h1', 2);
  await admission.purgeStream('HEARTBEATS', first!, 'test.pulse.h1');
  expect(await names()).toEqual(expect.arrayContaining(['test.pulse.h1', 'test.pulse.h2']));
  await admission.purgeStream('HEARTBEATS', first! + 100, 'test.pulse.h1');
  expect(await names()).toContain('test.pulse.h2');
  expect(await names()).not.toContain('test.pulse.h1');
});

test('lastPerSubject() does not retain the messages that it has read', async () => {
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  await Promise.all(Array.from({ length: 600 }, (_, n) => stored(`g${n}`, n)));
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapAfter = async (reads: number): Promise<number> => {
    for (let read = 0; read < reads; read += 1) {
      expect((await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*')).length).toBeGreaterThanOrEqual(600);
    }
    await setImmediate();
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(10);
  expect((await heapAfter(60)) - before).toBeLessThan(4 * 1024 * 1024);
});

test('lastPerSubject() ends when the bus is closed', async () => {
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  await Promise.all(Array.from({ length: 600 }, (_, n) => stored(`c${n}`, n)));
  const closing = await world.connect('admission');
  const reading = Promise.all(
    Array.from({ length: 20 }, () => faultCode(closing.lastPerSubject('HEARTBEATS', 'test.pulse.*'))),
  );
  await setImmediate();
  await closing.drain(100);
  // The reading itself has a longer timeout than this wait.
  let hasEnded = false;
  void reading.then(() => (hasEnded = true));
  await until('the reading has ended', () => hasEnded);
});

test('lastPerSubject() returns every subject while messages are being replaced', async () => {
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  const subjects = Array.from({ length: 2 }, (_, n) => `busy${n}`);
  await Promise.all(subjects.map((edgeName) => stored(edgeName, 0)));
  let reading = true;
  const replacing = subjects.map(async (edgeName) => {
    for (let n = 1; reading; n += 1) {
      await stored(edgeName, n);
      await setImmediate();
    }
  });
  for (let round = 0; round < 300; round += 1) {
    const read = await admission.lastPerSubject('HEARTBEATS', 'test.pulse.*');
    const names = new Set(read.map(({ subject }) => subject));
    expect(subjects.filter((edgeName) => !names.has(`test.pulse.${edgeName}`))).toEqual([]);
  }
  reading = false;
  await Promise.all(replacing);
});
