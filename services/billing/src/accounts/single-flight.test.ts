import { expect, test } from '@jest/globals';
import { singleFlight } from './single-flight.js';

interface Run {
  readonly number: number;
  resolve(): void;
  reject(error: Error): void;
}

function workThatWaits(): { runs: Run[]; call: () => Promise<number> } {
  const runs: Run[] = [];
  const call = singleFlight(
    () =>
      new Promise<number>((resolve, reject) => {
        const number = runs.length + 1;
        runs.push({ number, resolve: () => resolve(number), reject });
      }),
  );
  return { runs, call };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('callers during a run share the next one, which begins after they asked', async () => {
  const { runs, call } = workThatWaits();
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

test('a run that fails does so for its callers only', async () => {
  const { runs, call } = workThatWaits();
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
