import { ManualClock } from '@gateway/testkit/clocks';
import { afterEach, expect, test } from '@jest/globals';
import { recordingLog, until } from '../../test/database.js';
import { clearTimelines, syncTimelines } from './keep-timelines.js';

const SYSTEM = '7301234567890123456';
const kept = (timeline: number): string => JSON.stringify({ [SYSTEM]: timeline });
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Creates a store with one entry. */
function storeOf(value: string | null) {
  const store = {
    value,
    fails: false,
    get: () => (store.fails ? Promise.reject(new Error('away')) : Promise.resolve(store.value)),
    put: (_key: string, next: string) => Promise.resolve((store.value = next)),
  };
  return store;
}

const clock = new ManualClock();

async function keep(store: ReturnType<typeof storeOf>, log = recordingLog()) {
  const keeping = await syncTimelines(store, log, clock);
  stops.push(() => keeping.stop());
  return keeping;
}

test('keepTimelines() starts with the highest timeline of the store', async () => {
  const { timelines } = await keep(storeOf(kept(7)));
  expect(timelines.highest(SYSTEM)).toBe(7);
});

test('keepTimelines() stores a higher timeline but not a lower one', async () => {
  const store = storeOf(kept(2));
  const { timelines } = await keep(store);
  timelines.observe(SYSTEM, 1);
  timelines.observe(SYSTEM, 3);
  await until('it is kept', () => store.value === kept(3));
  expect(timelines.highest(SYSTEM)).toBe(3);
});

test('keepTimelines() learns a higher timeline of another process in a second', async () => {
  const store = storeOf(kept(2));
  const { timelines } = await keep(store);
  store.value = kept(5);
  await clock.advance(999);
  expect(timelines.highest(SYSTEM)).toBe(2);
  await clock.advance(1);
  expect(timelines.highest(SYSTEM)).toBe(5);
});

test('keepTimelines() continues without its store and compares after its return', async () => {
  const [store, log] = [storeOf(kept(4)), recordingLog()];
  store.fails = true;
  const { timelines, wake } = await keep(store, log);
  expect(timelines.highest(SYSTEM)).toBe(0);
  expect(log.lines).toHaveLength(1);
  store.fails = false;
  wake();
  await until('it is heard of', () => timelines.highest(SYSTEM) === 4);
});

test('timelines are kept per system, and forgetTimelines() clears them', async () => {
  const store = storeOf(kept(4));
  const { timelines } = await keep(store);
  timelines.observe('1', 1);
  await until('both are kept', () => store.value === JSON.stringify({ 1: 1, [SYSTEM]: 4 }));
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await clearTimelines(store);
  expect((await keep(store)).timelines.highest(SYSTEM)).toBe(0);
});

test('an unreadable list of timelines counts as empty', async () => {
  const { timelines } = await keep(storeOf('[["broken'));
  expect(timelines.all()).toEqual({});
});
