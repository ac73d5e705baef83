import { afterEach, expect, test } from '@jest/globals';
import { RESPONSE_IDS_BUCKET } from '@gateway/contracts/messages';
import { startTestBus } from '@gateway/testkit';
import { ManualClock } from '@gateway/testkit/clocks';
import { FakeBusClient } from '../../test/fake-bus-client.js';
import { throwFault } from '../../test/throw-fault.js';
import { makeBusClient } from '../bus/bus-client.js';
import { Deadlines } from '../call/deadlines.js';
import {
  LOOK_UP_MS,
  REMEMBER_MS,
  StoredIdCache,
  RETRY_MS,
  UNSTORED_IDS_MAX,
  WRITE_MS_MAX,
  type StoredIdCacheOptions,
} from './remembered-answers.js';

type Store = StoredIdCacheOptions['store'];

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Creates a memory whose time passes only in pass(). */
function memory(store: Partial<Store>) {
  let nowMs = 0;
  const waits: { ms: number; expired: () => void; isCancelled: boolean }[] = [];
  const failures: string[] = [];
  const answers = new StoredIdCache({
    store: Object.assign(new FakeBusClient(), store),
    deadlines: {
      nowMs: () => nowMs,
      in: (ms, expired) => {
        const wait = { ms, expired, isCancelled: false };
        waits.push(wait);
        return { cancel: () => void (wait.isCancelled = true) };
      },
    },
    onFailed: (what, reason) => failures.push(`${what}: ${reason}`),
  });
  /** Expires the open waits of this many milliseconds. */
  const pass = async (ms: number): Promise<void> => {
    await settle();
    nowMs += ms;
    for (const wait of waits.splice(0)) {
      if (wait.isCancelled) continue;
      if (wait.ms === ms) wait.expired();
      else waits.push(wait);
    }
    await settle();
  };
  return { answers, failures, pass, waits };
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const fault = (code: string): Error => Object.assign(new Error(code), { code });
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const found = async (answers: StoredIdCache, account: string, ...ids: string[]): Promise<unknown> => [
  ...((await answers.sourcesOf(account, ids)) ?? [['unreadable']]),
];

test('another edge finds all IDs of a response, but another account finds none', async () => {
  const bus = await startTestBus();
  stops.push(() => bus.stop());
  const deadlines = new Deadlines(new ManualClock(), throwFault);
  stops.push(() => deadlines.stop());
  const edge = async (name: string) => {
    const store = makeBusClient(await bus.connect('edge-proxy', name));
    return new StoredIdCache({ store, deadlines, onFailed: (what, reason) => fail(`${what}: ${reason}`) });
  };
  const [one, other] = [await edge('e0'), await edge('e1')];
  const ids = ['resp_1', ...Array.from({ length: 50 }, (_, at) => `msg_${at}`), 'cntr_1'];
  await one.remember('acc-1', ids, 'src-a');
  expect(await found(other, 'acc-1', ...ids)).toEqual(ids.map((id) => [id, 'src-a']));
  expect(await found(other, 'acc-2', 'resp_1')).toEqual([]);
  expect(await found(other, 'acc-1', 'resp_1', 'resp_2', 'msg_1')).toEqual([['resp_1', 'src-a']]);
  expect(await makeBusClient(await bus.connect('edge-proxy', 'e2')).countAnswers()).toBe(ids.length);
}, 60_000);

function fail(problem: string): never {
  throw new Error(problem);
}

test('a full store refuses new IDs and keeps the old ones', async () => {
  const bus = await startTestBus();
  stops.push(() => bus.stop());
  const store = makeBusClient(await bus.connect('edge-proxy', 'e0'), 100);
  const first = memory(store);
  await first.answers.remember('acc', ['resp_0'], 'src-a');
  const ids = Array.from({ length: 120 }, (_, at) => `resp_x${at}`);
  await first.answers.remember('acc', ids, 'src-a');
  expect(first.failures).toEqual(Array.from({ length: 21 }, () => 'lost: stream_full'));
  expect(await found(memory(store).answers, 'acc', 'resp_0')).toEqual([['resp_0', 'src-a']]);
}, 60_000);

test('the latest IDs are found without the store', async () => {
  const store = new FakeBusClient();
  const { answers } = memory({ putAnswer: store.putAnswer.bind(store) });
  await answers.remember('acc', ['resp_1'], 'src-a');
  expect(await found(answers, 'acc', 'resp_1')).toEqual([['resp_1', 'src-a']]);
  await answers.remember(
    'acc',
    Array.from({ length: 80_000 }, (_, at) => `resp_x${at}`),
    'src-b',
  );
  expect(await found(answers, 'acc', 'resp_1')).toEqual([]);
});

test('an ID is looked up only once', async () => {
  let reads = 0;
  const { answers } = memory({ getAnswer: async () => `src-${(reads += 1)}` });
  expect(await found(answers, 'acc', 'resp_1')).toEqual([['resp_1', 'src-1']]);
  expect(await found(answers, 'acc', 'resp_1')).toEqual([['resp_1', 'src-1']]);
});

test('an ID that a server does not have yet is found at the leader', async () => {
  const asked: string[] = [];
  const { answers } = memory({
    getAnswer: async () => null,
    confirmAnswer: async (key) => (asked.push(key) === 1 ? 'src-a' : null),
  });
  expect(await found(answers, 'acc', 'resp_1', 'foreign', 'other')).toEqual([['resp_1', 'src-a']]);
  // The first foreign ID ends the lookup, so that a request with thousands of them causes one
  // query.
  expect(asked).toHaveLength(2);
});

test.each([
  ['does not answer', { getAnswer: never<null> }, 'late'],
  ['fails', { getAnswer: () => Promise.reject(fault('disconnected')) }, 'disconnected'],
  ['has no leader', { getAnswer: async () => null, confirmAnswer: () => Promise.reject(fault('timeout')) }, 'timeout'],
])('IDs are unreadable instead of unknown while the store %s', async (_how, store, reason) => {
  const { answers, failures, pass } = memory(store);
  const asked = answers.sourcesOf('acc', ['resp_1']);
  await pass(LOOK_UP_MS);
  expect([await asked, failures]).toEqual([null, [`lookup: ${reason}`]]);
});

test('a last chunk waits at most REMEMBER_MS for a store that does not respond', async () => {
  const { answers, failures, pass, waits } = memory({ putAnswer: never });
  const kept = answers.remember('acc', ['resp_1'], 'src-a');
  expect(waits.map(({ ms }) => ms)).toEqual([REMEMBER_MS]);
  await pass(REMEMBER_MS);
  await kept;
  expect([failures, await found(answers, 'acc', 'resp_1')]).toEqual([['store: late'], [['resp_1', 'src-a']]]);
});

test('a failed write is retried until the store is available again', async () => {
  const store = new FakeBusClient();
  let fails = 3;
  const { answers, failures, pass } = memory({
    putAnswer: (key, source) => ((fails -= 1) >= 0 ? Promise.reject(fault('timeout')) : store.putAnswer(key, source)),
  });
  void answers.remember('acc', ['resp_1'], 'src-a');
  for (let at = 0; at < 3; at += 1) await pass(RETRY_MS);
  expect([...store.answers.values()]).toEqual(['src-a']);
  expect(failures).toEqual([]);
});

test('a write is given up after its time, or at once if the store is full', async () => {
  let code = 'timeout';
  const { answers, failures, pass } = memory({ putAnswer: () => Promise.reject(fault(code)) });
  void answers.remember('acc', ['resp_1'], 'src-a');
  await pass(REMEMBER_MS);
  for (let ms = REMEMBER_MS; ms < WRITE_MS_MAX; ms += RETRY_MS) await pass(RETRY_MS);
  expect(failures).toEqual(['store: late', 'lost: timeout']);
  code = 'stream_full';
  await answers.remember('acc', ['resp_2'], 'src-a');
  expect(failures.slice(2)).toEqual(['lost: stream_full']);
});

test('failed writes above the bound are not retried', async () => {
  const { answers, failures, pass } = memory({ putAnswer: () => Promise.reject(fault('timeout')) });
  const ids = Array.from({ length: UNSTORED_IDS_MAX + 2 }, (_, at) => `resp_${at}`);
  void answers.remember('acc', ids, 'src-a');
  await pass(0);
  expect(failures).toEqual(['lost: timeout', 'lost: timeout']);
});

test('IDs are kept for 30 days', () => {
  expect(RESPONSE_IDS_BUCKET.ageMaxMs).toBe(30 * 86_400_000);
});
