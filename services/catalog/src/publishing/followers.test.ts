import { systemClock } from '@gateway/service-kit';
import { ManualClock } from '@gateway/testkit/clocks';
import { afterEach, expect, test } from '@jest/globals';
import { FOLLOWERS_MAX, trackReplicas, type Followers } from './followers.js';

const LONG_MS = 60_000;
const tables: Followers[] = [];
afterEach(() => {
  for (const table of tables.splice(0)) table.stop();
});

/** Creates a table whose time the test sets, as after a pause. Waits use real time. */
function makeTable(everyMs = 1_000): { table: Followers; clock: { now: number } } {
  const clock = { now: 0 };
  const table = trackReplicas({ clock: { ...systemClock, monotonicMs: () => clock.now }, everyMs });
  tables.push(table);
  return { table, clock };
}
const says = (replica: string, revision: number, last = false) => ({ replica, revision, last });

/** Creates a table that has listened for long enough. */
function makeListening() {
  const made = makeTable();
  made.table.listen();
  made.clock.now = 1_300;
  return made;
}

test('haveAll() resolves when the missing report arrives', async () => {
  const { table } = makeListening();
  table.receive(says('edge.a', 1));
  table.receive(says('admission.b', 2));
  const waiting = table.haveAll(2, LONG_MS);
  table.receive(says('edge.a', 2));
  expect(await waiting).toBe(true);
  expect(await table.haveAll(2, 0)).toBe(true);
  expect(await table.haveAll(3, 0)).toBe(false);
});

test('haveAll() does not wait for a replica that reported its stop', async () => {
  const { table } = makeListening();
  table.receive(says('edge.a', 1));
  const waiting = table.haveAll(2, LONG_MS);
  table.receive(says('edge.a', 1, true));
  expect(await waiting).toBe(true);
  expect(table.count()).toBe(0);
});

test('haveAll() stops waiting for a silent replica', async () => {
  const clock = new ManualClock();
  const table = trackReplicas({ clock, everyMs: 40 });
  tables.push(table);
  table.listen();
  table.receive(says('edge.a', 1));
  const ends: boolean[] = [];
  void table.haveAll(2, LONG_MS).then((inForce) => ends.push(inForce));
  await clock.advance(119);
  expect(ends).toEqual([]);
  await clock.advance(1);
  expect(ends).toEqual([true]);
  expect(table.count()).toBe(0);
});

test('haveAll() returns false after its timeout', async () => {
  const clock = new ManualClock();
  const table = trackReplicas({ clock, everyMs: LONG_MS });
  tables.push(table);
  table.listen();
  const waiting = table.haveAll(1, 20);
  await clock.advance(20);
  expect(await waiting).toBe(false);
});

test('haveAll() returns false without the bus, and until one interval after it is back', async () => {
  const { table, clock } = makeListening();
  expect(await table.haveAll(1, 0)).toBe(true);
  table.pause();
  expect(await table.haveAll(1, 0)).toBe(false);
  table.listen();
  expect(await table.haveAll(1, 0)).toBe(false);
  clock.now += 1_300;
  expect(await table.haveAll(1, 0)).toBe(true);
});

test('haveAll() ignores silence after the process was paused', async () => {
  const { table, clock } = makeListening();
  table.receive(says('edge.a', 1));
  clock.now += 10_000;
  expect(await table.haveAll(2, 0)).toBe(false);
});

test('haveAll() returns false above the maximum, until silent replicas are dropped', async () => {
  const { table, clock } = makeListening();
  for (let n = 0; n < FOLLOWERS_MAX; n += 1) table.receive(says(`edge.${n}`, 5));
  expect(await table.haveAll(5, 0)).toBe(true);
  table.receive(says('edge.more', 5));
  expect(table.count()).toBe(FOLLOWERS_MAX);
  expect(await table.haveAll(5, 0)).toBe(false);
  clock.now += 3_000;
  table.receive(says('edge.more', 5));
  expect(table.count()).toBe(1);
});

test('haveAll() returns false when the service stops', async () => {
  const { table } = makeListening();
  table.receive(says('edge.a', 1));
  const waiting = table.haveAll(2, LONG_MS);
  table.stop();
  expect(await waiting).toBe(false);
});
