import { beforeEach, expect, test } from '@jest/globals';
import { makeEpoch } from './epoch.js';
import type { RunOfRedis } from './epoch-history.js';
import { RunAgreement } from './run-agreement.js';

const [OWN, LATER] = ['a'.repeat(40), 'b'.repeat(40)];
const epoch = (runId: string, setAt: number): string => makeEpoch(runId, setAt, '00');

let now: number;
let told: RunOfRedis[];
let runs: RunAgreement;

beforeEach(() => {
  now = 0;
  told = [];
  runs = new RunAgreement(() => now);
  runs.setOthers({ tell: (run) => told.push(run), areHeard: () => Promise.resolve(true) });
});

function use(...epochs: string[]): void {
  expect(runs.connected(OWN, epochs)).toBe(true);
  runs.used();
  told = [];
}

test('at each connection the others are asked who uses a later run; a server that has lost all asks nobody', () => {
  expect(runs.connected(OWN, [epoch(OWN, 5), epoch(OWN, 7), ''])).toBe(true);
  expect(told).toEqual([{ id: OWN, setAt: 7, isUsed: false }]);
  expect(runs.connected(OWN, ['', ''])).toBe(true);
  expect(told).toHaveLength(1);
});

test('who uses a later run says so, and the used server is given up', () => {
  use(epoch(OWN, 5));
  expect(runs.hearRun({ id: LATER, setAt: 4, isUsed: true })).toBe(false);
  expect(runs.hearRun({ id: LATER, setAt: 6, isUsed: true })).toBe(true);
});

test('the used run answers who asks for an earlier one, not once it is lost', () => {
  use(epoch(OWN, 5));
  runs.hearRun({ id: LATER, setAt: 6, isUsed: false });
  expect(told).toEqual([]);
  runs.hearRun({ id: LATER, setAt: 4, isUsed: false });
  expect(told).toEqual([{ id: OWN, setAt: 5, isUsed: true }]);
  runs.lost();
  runs.hearRun({ id: LATER, setAt: 4, isUsed: false });
  expect(told).toHaveLength(1);
});

test('whoever quotes an epoch of an earlier run is told which one is used, at most once a second', () => {
  use(epoch(OWN, 5));
  for (now of [0, 400, 999, 1_000, 1_999]) expect(runs.hear([epoch(OWN, 5), epoch(LATER, 4)])).toBe(false);
  expect(told).toEqual(Array(2).fill({ id: OWN, setAt: 5, isUsed: true }));
  expect(runs.hear([epoch(LATER, 6)])).toBe(true);
  expect(told).toHaveLength(2);
});

test.each([
  ['comes before that of the bus', (answer: () => void) => answer(), undefined],
  ['comes after that of the bus', undefined, (answer: () => void) => answer()],
])(
  'a later run that is used keeps a replica from using an earlier one: its answer %s',
  async (_name, before, after) => {
    const answer = (): void => void runs.hearRun({ id: LATER, setAt: 9, isUsed: true });
    runs.setOthers({
      tell: () => before?.(answer),
      areHeard: () => Promise.resolve(true),
    });
    answer();
    for (; now < 10_000; now += 300) {
      expect(runs.connected(OWN, [epoch(OWN, 5)])).toBe(false);
      expect(await runs.mayBeginAnew()).toBe(false);
      after?.(answer);
    }
  },
);

test('a later run that nobody uses keeps it for two seconds, and for as long as the bus is away', async () => {
  let isHeard = true;
  runs.setOthers({ tell: () => undefined, areHeard: () => Promise.resolve(isHeard) });
  runs.hearRun({ id: LATER, setAt: 9, isUsed: true });
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
