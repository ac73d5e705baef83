import { beforeEach, expect, test } from '@jest/globals';
import { type ReplicaRun, makeEpoch } from './epoch-rules.js';
import { RunAgreement } from './run-agreement-rules.js';

const [OWN, LATER] = ['a'.repeat(40), 'b'.repeat(40)];
const epoch = (runId: string, setAt: number): string => makeEpoch(runId, setAt, '00');

let now: number;
let told: ReplicaRun[];
let runs: RunAgreement;

beforeEach(() => {
  now = 0;
  told = [];
  runs = new RunAgreement(() => now);
  runs.setOthers({ publish: (run) => told.push(run), areReachable: () => Promise.resolve(true) });
});

function use(...epochs: string[]): void {
  expect(runs.connected(OWN, epochs)).toBe(true);
  runs.used();
  told = [];
}

test('a server that comes into use is reported with its newest epoch', () => {
  expect(runs.connected(OWN, [epoch(OWN, 5), epoch(OWN, 7), ''])).toBe(true);
  expect(told).toEqual([]);
  runs.used();
  expect(told).toEqual([{ id: OWN, setAt: 7, isUsed: true }]);
  expect(runs.connected(OWN, ['', ''])).toBe(true);
  runs.used();
  expect(told).toHaveLength(1);
});

test('a report of a later used run ends the use of the connected server', () => {
  use(epoch(OWN, 5));
  expect(runs.observeRun({ id: LATER, setAt: 4, isUsed: true })).toBe(false);
  expect(runs.observeRun({ id: LATER, setAt: 6, isUsed: true })).toBe(true);
});

test('a server that started empty is superseded at its first applied change', () => {
  use('');
  expect(runs.observe([epoch(LATER, 6)])).toBe(false);
  expect(runs.answered('admit', ['know', '1', `{"a":"${epoch(LATER, 7)}"}`])).toBe(false);
  expect(runs.answered('apply', ['lost', '1'])).toBe(false);
  expect(runs.nextTime(0)).toBe(7);
  expect(runs.answered('apply', ['applied', '1', epoch(OWN, 5)])).toBe(true);
});

test('a replica with an earlier run is notified at once or every 200 ms', () => {
  use(epoch(OWN, 5));
  const [earlier, later] = [
    { id: LATER, setAt: 4 },
    { id: LATER, setAt: 6 },
  ];
  now = 200;
  runs.observeRun({ ...later, isUsed: false });
  expect(told).toEqual([]);
  for (now of [200, 210, 399, 400]) runs.observeRun({ ...earlier, isUsed: false });
  expect(told).toEqual(Array(2).fill({ id: OWN, setAt: 5, isUsed: true }));
  runs.observeRun({ ...earlier, isUsed: true });
  expect(told).toHaveLength(3);
  now = 1_000;
  runs.lost();
  for (const isUsed of [true, false]) runs.observeRun({ ...earlier, isUsed });
  expect(told).toHaveLength(3);
});

test('an edge that knows only an earlier run is notified at most once a second', () => {
  use(epoch(OWN, 5));
  for (now of [1_000, 1_400, 1_999, 2_000, 2_999]) expect(runs.observe([], { id: LATER, setAt: 4 })).toBe(false);
  expect(told).toEqual(Array(2).fill({ id: OWN, setAt: 5, isUsed: true }));
  expect(runs.observe([epoch(OWN, 5)], { id: OWN, setAt: 5 })).toBe(false);
  expect(told).toHaveLength(2);
  expect(runs.observe([], { id: LATER, setAt: 6 })).toBe(true);
});

test.each([
  ['comes before that of the bus', (answer: () => void) => answer(), undefined],
  ['comes after that of the bus', undefined, (answer: () => void) => answer()],
])('a used later run prevents the use of an earlier one if its report %s', async (_name, before, after) => {
  const answer = (): void => void runs.observeRun({ id: LATER, setAt: 9, isUsed: true });
  runs.setOthers({
    publish: () => before?.(answer),
    areReachable: () => Promise.resolve(true),
  });
  answer();
  for (; now < 10_000; now += 300) {
    expect(runs.connected(OWN, [epoch(OWN, 5)])).toBe(false);
    expect(await runs.mayBeginAnew()).toBe(false);
    after?.(answer);
  }
});

test('an unused later run delays the use for two seconds and while the bus is away', async () => {
  let isHeard = true;
  runs.setOthers({ publish: () => undefined, areReachable: () => Promise.resolve(isHeard) });
  runs.observeRun({ id: LATER, setAt: 9, isUsed: true });
  const usedAt = async (): Promise<number | null> => {
    for (const until = now + 10_000; now < until; now += 500) {
      expect(runs.connected(OWN, [epoch(OWN, 5)])).toBe(false);
      if (await runs.mayBeginAnew()) return now;
    }
    return null;
  };
  expect(await usedAt()).toBe(2_000);
  expect(runs.nextTime(0)).toBe(10);
  isHeard = false;
  expect(await usedAt()).toBeNull();
  isHeard = true;
  const lastAskedAt = now - 500;
  expect(await usedAt()).toBe(lastAskedAt + 2_000);
});
