import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { HEARTBEATS_SETTINGS, startBusWorld, TEST_TIMEOUT_MS, until, type BusWorld } from '../../test/bus-world.js';
import { job, notice, pulse } from '../../test/messages.js';
import type { Bus } from '../index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
let admission: Bus;
let edges: Bus[];

beforeAll(async () => {
  world = await startBusWorld();
  admission = await world.connect('admission');
  edges = [await world.connect('edge-proxy'), await world.connect('edge-proxy')];
});
afterAll(() => world.stop());

/** Sends until a first message arrives: the subscriptions are then active. */
async function reached(send: () => void, heard: () => boolean): Promise<void> {
  await until('a subscription in force', () => {
    send();
    return heard();
  });
}

test('a message to all reaches each replica, with fixed words only the named one', async () => {
  const all = edges.map(() => new Set<number>());
  const own = edges.map(() => new Set<number>());
  for (const [index, edge] of edges.entries()) {
    edge.subscribe(notice, ({ n }) => void all[index]?.add(n));
    edge.subscribe(notice, ({ n }) => void own[index]?.add(n), { words: { to: `e${index}` } });
  }
  await reached(
    () => {
      admission.publish(notice, { to: 'e0' }, { n: 0 });
      admission.publish(notice, { to: 'e1' }, { n: 1 });
    },
    () => all.every((set) => set.size === 2) && own.every((set) => set.size > 0),
  );
  expect(own.map((set) => [...set])).toEqual([[0], [1]]);
});

test('a message to one reaches one replica', async () => {
  const heard: number[][] = [[], []];
  for (const [index, edge] of edges.entries()) edge.subscribe(job, ({ n }) => void heard[index]?.push(n));
  await reached(
    () => admission.publish(job, {}, { n: -1 }),
    () => heard.every((list) => list.length > 0),
  );
  for (let n = 0; n < 100; n += 1) expect(admission.publish(job, {}, { n })).toBe(true);
  const counted = () =>
    heard
      .flat()
      .filter((n) => n >= 0)
      .sort((a, b) => a - b);
  await until('all', () => counted().length >= 100);
  expect(counted()).toEqual(Array.from({ length: 100 }, (_, n) => n));
});

test('an invalid message or a failing handler does not end the subscription', async () => {
  const heard: number[] = [];
  edges[0]?.subscribe(job, ({ n }) => {
    heard.push(n);
    if (n === 1) throw new Error('a mistake');
  });
  edges[1]?.subscribe(job, () => undefined);
  await reached(
    () => {
      admission.publish({ ...job, version: 9 }, {}, { n: 5 });
      admission.publish(job, {}, { n: 1 });
    },
    () => heard.includes(1),
  );
  await reached(
    () => admission.publish(job, {}, { n: 2 }),
    () => heard.includes(2),
  );
  expect(heard).not.toContain(5);
  expect(world.log.some(({ text }) => text === 'a message was refused')).toBe(true);
});

test('a word that is not a plain token is refused', () => {
  expect(() => admission.publish(notice, { to: 'a.b' }, { n: 1 })).toThrow('plain token');
});

test('stored messages are received live, by each replica or by one', async () => {
  const receivers = [admission, await world.connect('admission')];
  await admission.ensureStream(HEARTBEATS_SETTINGS);
  const each: number[][] = [[], []];
  const one: number[] = [];
  for (const [index, bus] of receivers.entries()) {
    bus.subscribe(pulse, ({ n }) => void each[index]?.push(n));
    bus.subscribe(pulse, ({ n }) => void one.push(n), { queue: true });
    // After this reply the subscriptions sent before it are active.
    await bus.streamState('HEARTBEATS');
  }
  for (let n = 0; n < 20; n += 1) await edges[0]?.store(pulse, { edge: 'e1' }, { n });
  await until('all', () => [...each, one].every((list) => list.length === 20));
  expect(one.sort((a, b) => a - b)).toEqual(each[0]);
});
