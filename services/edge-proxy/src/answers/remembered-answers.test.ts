import { afterEach, expect, test } from '@jest/globals';
import { ANSWERS_BUCKET } from '@gateway/contracts/messages';
import { startTestBus } from '@gateway/testkit';
import { FakeBusClient } from '../../test/fake-bus-client.js';
import { throwFault } from '../../test/throw-fault.js';
import { makeBusClient } from '../adapters/bus-client.js';
import { Deadlines } from '../call/deadlines.js';
import type { BusClient } from '../ports.js';
import { LOOK_UP_MS, RememberedAnswers, REMEMBER_MS } from './remembered-answers.js';

type Store = Pick<BusClient, 'putAnswer' | 'getAnswer'>;

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Time passes by the test's word. */
function memory(store: Store) {
  const waits: { ms: number; expired: () => void }[] = [];
  const failures: string[] = [];
  const answers = new RememberedAnswers({
    store,
    deadlines: {
      in: (ms, expired) => {
        waits.push({ ms, expired });
        return { cancel: () => undefined };
      },
    },
    onFailed: (what, reason) => failures.push(`${what}: ${reason}`),
  });
  return { answers, waits, failures };
}

test('another edge finds by the bus which source gave an answer', async () => {
  const bus = await startTestBus();
  stops.push(() => bus.stop());
  const deadlines = new Deadlines(() => 0, throwFault);
  stops.push(() => deadlines.stop());
  const edge = async (name: string) => {
    const store = makeBusClient(await bus.connect('edge-proxy', name));
    return new RememberedAnswers({ store, deadlines, onFailed: (what, reason) => fail(`${what}: ${reason}`) });
  };
  const [one, other] = [await edge('e0'), await edge('e1')];
  await one.remember('acc-1', 'resp_1', 'src-a');
  expect(await other.sourceOf('acc-1', 'resp_1')).toBe('src-a');
  expect(await other.sourceOf('acc-2', 'resp_1')).toBeNull();
  expect(await other.sourceOf('acc-1', 'resp_2')).toBeNull();
}, 60_000);

function fail(problem: string): never {
  throw new Error(problem);
}

test('the latest answers are found without the store', async () => {
  const store = new FakeBusClient();
  const { answers } = memory(store);
  await answers.remember('acc', 'resp_1', 'src-a');
  store.answers.clear();
  expect(await answers.sourceOf('acc', 'resp_1')).toBe('src-a');
  for (let at = 0; at < 20_000; at += 1) await answers.remember('acc', `resp_x${at}`, 'src-b');
  store.answers.clear();
  expect(await answers.sourceOf('acc', 'resp_1')).toBeNull();
});

test('what was looked up once is not looked up again', async () => {
  const store = new FakeBusClient();
  await memory(store).answers.remember('acc', 'resp_1', 'src-a');
  const { answers } = memory(store);
  expect(await answers.sourceOf('acc', 'resp_1')).toBe('src-a');
  store.answers.clear();
  expect(await answers.sourceOf('acc', 'resp_1')).toBe('src-a');
});

test('a store that does not answer holds nothing up for longer than its time', async () => {
  const never: Store = { putAnswer: () => new Promise(() => undefined), getAnswer: () => new Promise(() => undefined) };
  const { answers, waits, failures } = memory(never);
  const found = answers.sourceOf('acc', 'resp_1');
  const kept = answers.remember('acc', 'resp_2', 'src-a');
  expect(waits.map(({ ms }) => ms)).toEqual([LOOK_UP_MS, REMEMBER_MS]);
  for (const { expired } of waits) expired();
  expect([await found, await kept]).toEqual([null, undefined]);
  expect(failures).toEqual(['look_up: late', 'remember: late']);
});

test('a store that fails is an answer that is not known', async () => {
  const fault = Object.assign(new Error('gone'), { code: 'disconnected' });
  const { answers, failures } = memory({
    putAnswer: () => Promise.reject(fault),
    getAnswer: () => Promise.reject(fault),
  });
  await answers.remember('acc', 'resp_1', 'src-a');
  expect(await answers.sourceOf('acc', 'resp_1')).toBe('src-a');
  expect(await answers.sourceOf('acc', 'resp_2')).toBeNull();
  expect(failures).toEqual(['remember: disconnected', 'look_up: disconnected']);
});

test('answers are kept for a month, and no more than the bucket holds', () => {
  expect(ANSWERS_BUCKET).toEqual({ name: 'answers', ageMaxMs: 30 * 86_400_000, bytesMax: 64 * 1024 * 1024 });
});
