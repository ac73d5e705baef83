import { beforeEach, expect, test } from '@jest/globals';
import { recordingLog } from '@gateway/testkit';
import { ManualClock } from '@gateway/testkit/clocks';
import type { RedisMemory } from '../limit-store/redis-limit-store.js';
import { watchStores } from './store-watch.js';

const GIBIBYTE = 1024 ** 3;

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

const FULL: RedisMemory = { usedBytes: GIBIBYTE, maxBytes: GIBIBYTE };
const EMPTY: RedisMemory = { usedBytes: 1, maxBytes: GIBIBYTE };

test('an unresponsive JetStream delays neither the poll of Redis nor a stop', async () => {
  let asked = 0;
  let memory = EMPTY;
  const answers: ((error: Error) => void)[] = [];
  const streamState = (): Promise<never> => {
    asked += 1;
    return new Promise((_resolve, reject) => answers.push(reject));
  };
  const log = recordingLog();
  const watch = watchStores({ memory: async () => memory }, { streamState }, GIBIBYTE, log, clock);
  await clock.advance(60_000);
  expect(asked).toBe(1);
  memory = FULL;
  await clock.advance(1_000);
  expect(watch.engaged()).toBe('redis is almost full');
  answers[0]?.(new Error('timeout'));
  await clock.advance(1_000);
  expect(asked).toBe(2);
  expect(watch.stop()).toBeUndefined();
  await clock.advance(60_000);
  expect([asked, clock.pending]).toEqual([2, 0]);
});

test('the result of a poll after the stop is ignored', async () => {
  const answers: ((memory: RedisMemory) => void)[] = [];
  const memory = (): Promise<RedisMemory> => new Promise((resolve) => answers.push(resolve));
  const log = recordingLog();
  const streamState = async () => Promise.reject(new Error('away'));
  const watch = watchStores({ memory }, { streamState }, GIBIBYTE, log, clock);
  await clock.advance(1_000);
  watch.stop();
  answers[0]?.(FULL);
  await clock.advance(0);
  expect([watch.engaged(), log.lines]).toEqual([null, []]);
});
