import { expect, test } from '@jest/globals';
import { SingleFlight } from './single-flight.js';

interface Run {
  readonly number: number;
  resolve(): void;
  reject(error: Error): void;
}

function heldWork(): { runs: Run[]; call: () => Promise<number>; join: (key: string) => Promise<number> } {
  const runs: Run[] = [];
  const flights = new SingleFlight<number>();
  const work = () =>
    new Promise<number>((resolve, reject) => {
      const number = runs.length + 1;
      runs.push({ number, resolve: () => resolve(number), reject });
    });
  return { runs, call: () => flights.follow('', work), join: (key: string) => flights.join(key, work) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('follow() shares one later run among all callers during a run', async () => {
  const { runs, call } = heldWork();
  const answers = [call(), call(), call()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await turn();
  expect(runs).toHaveLength(2);
  const late = call();
  runs[1]?.resolve();
  await turn();
  runs[2]?.resolve();
  expect(await Promise.all([...answers, late])).toEqual([1, 2, 2, 3]);
});

test('a failed run rejects only its own callers', async () => {
  const { runs, call } = heldWork();
  const [first, second] = [call(), call()];
  runs[0]?.reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  await turn();
  runs[1]?.resolve();
  expect(await second).toBe(2);
  const third = call();
  runs[2]?.resolve();
  expect(await third).toBe(3);
});

test('join() shares the current run of its key', async () => {
  const { runs, join } = heldWork();
  const answers = [join('a'), join('a'), join('b')];
  expect(runs).toHaveLength(2);
  for (const run of runs) run.resolve();
  expect(await Promise.all(answers)).toEqual([1, 1, 2]);
  const late = join('a');
  runs[2]?.resolve();
  expect(await late).toBe(3);
});
