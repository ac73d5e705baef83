import { afterEach, expect, test } from '@jest/globals';
import { quotaEntry, QUOTAS_BUCKET, type CatalogSource } from '@gateway/contracts/messages';
import { ManualClock } from '@gateway/testkit/clocks';
import { startTestBus, until } from '@gateway/testkit';
import { FakeBusClient } from '../../test/fake-bus-client.js';
import { sourceEntry } from '../../test/edge-world.js';
import { makeBusClient } from '../bus/bus-client.js';
import type { BusClient } from '../ports.js';
import { IDLE_MS } from './held-share.js';
import { CLOCKS_DIFFER_MS_MAX, SHARE_MS } from './share-rules.js';
import { NO_PERMIT, QUOTA_SOURCES_MAX, RENEW_MS, SHARE_WAIT_MS, SourceQuotas, type Permit } from './source-quotas.js';

type Store = Pick<BusClient, 'readQuota' | 'replaceQuota'>;
const NONE = { requestsPerMinute: null, callsAtOnce: null, tokensPerMinute: null };
const OTHER = sourceEntry('src-other', 'https://other.example');
const limited = (quota: Partial<NonNullable<CatalogSource['quota']>>, id = 'src-q'): CatalogSource => ({
  ...OTHER,
  id,
  quota: { ...NONE, ...quota },
});

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** An edge whose clock the test controls. */
function edgeOn(store: Store, edge = 'e1', time = { ms: 1_000_000_000 }) {
  const waits: { ms: number; expired: () => void }[] = [];
  const failures: string[] = [];
  const beyond: [source: string, lack: string][] = [];
  const quotas = new SourceQuotas({
    edge,
    store,
    deadlines: {
      nowMs: () => time.ms,
      in: (ms, expired) => {
        waits.push({ ms, expired });
        return { cancel: () => undefined };
      },
    },
    clock: { nowMs: () => time.ms },
    // Does not advance: only the test renews shares.
    timers: new ManualClock(),
    random: () => 0,
    onFailed: (reason) => failures.push(reason),
    onOverQuota: (source, lack) => beyond.push([source, lack]),
  });
  stops.push(() => quotas.stop());
  const permits = async (source: CatalogSource, times: number): Promise<Permit[]> => {
    const got: Permit[] = [];
    for (let time = 0; time < times; time += 1) {
      const { at, permit } = await quotas.next([source, OTHER], () => 0);
      if (at === 0) got.push(permit);
    }
    return got;
  };
  return { quotas, time, waits, failures, beyond, permits };
}

const sharesOf = async (store: Store): Promise<string[]> => {
  const text = await store.readQuota('src-q');
  return text === null ? [] : Object.keys(quotaEntry.parse(JSON.parse(text.value)).shares);
};

test('next() returns full sources last, and exceeds a quota only without alternative', async () => {
  const { quotas, beyond } = edgeOn(new FakeBusClient());
  const [one, two] = [limited({ requestsPerMinute: 1 }, 'one'), limited({ requestsPerMinute: 1 }, 'two')];
  const turns = [];
  for (let call = 0; call < 4; call += 1) turns.push(await quotas.next([one, two], () => 0));
  expect(turns.map(({ at, permit }) => [at, permit.isOverQuota])).toEqual([
    [0, false],
    [1, false],
    [0, true],
    [0, true],
  ]);
  expect(await quotas.next([one, two, OTHER], () => 0)).toEqual({ at: 2, permit: NO_PERMIT });
  expect(beyond).toEqual([
    ['one', 'requests'],
    ['one', 'requests'],
  ]);
});

test('concurrent calls receive the whole quota although the first share was small', async () => {
  const { quotas } = edgeOn(new FakeBusClient());
  const source = limited({ requestsPerMinute: 400 });
  const turns = await Promise.all(Array.from({ length: 500 }, () => quotas.next([source, OTHER], () => 0)));
  expect(turns.filter(({ at }) => at === 0)).toHaveLength(400);
});

test('a source that is known to be full is not requested again before the renewal', async () => {
  const store = new FakeBusClient();
  const { quotas, permits, time } = edgeOn(store);
  const source = limited({ callsAtOnce: 2 });
  const held = await permits(source, 3);
  expect(held).toHaveLength(2);
  const { revision } = (await store.readQuota('src-q')) ?? { revision: 0 };
  expect(await permits(source, 20)).toHaveLength(0);
  expect(await store.readQuota('src-q')).toMatchObject({ revision });
  time.ms += RENEW_MS;
  quotas.renewDue();
  await until('the share is renewed', async () => ((await store.readQuota('src-q'))?.revision ?? 0) > revision);
  for (const permit of held) permit.ended();
  expect(await permits(source, 3)).toHaveLength(2);
});

test('a store without response delays one call for the timeout, and no later call', async () => {
  const never: Store = { readQuota: () => new Promise(() => undefined), replaceQuota: () => Promise.reject(fail()) };
  const { quotas, waits, failures } = edgeOn(never);
  const turn = quotas.next([limited({ callsAtOnce: 2 }), OTHER], () => 0);
  await until('the call is waiting', () => waits.length > 0);
  expect(waits.map(({ ms }) => ms)).toEqual([SHARE_WAIT_MS]);
  waits[0]?.expired();
  expect((await turn).at).toBe(1);
  expect((await quotas.next([limited({ callsAtOnce: 2 }), OTHER], () => 0)).at).toBe(1);
  expect(waits).toHaveLength(1);
  expect(failures).toEqual(['late']);
});

function fail(): Error {
  return Object.assign(new Error('gone'), { code: 'disconnected' });
}

test('a source counts as full if the store fails or its entry is unreadable', async () => {
  const failing: Store = { readQuota: () => Promise.reject(fail()), replaceQuota: () => Promise.reject(fail()) };
  const { permits, failures, beyond, quotas } = edgeOn(failing);
  expect(await permits(limited({ callsAtOnce: 2 }), 2)).toHaveLength(0);
  expect(failures).toEqual(['disconnected']);
  expect(await quotas.next([limited({ callsAtOnce: 2 })], () => 0)).toMatchObject({
    at: 0,
    permit: { isOverQuota: true },
  });
  expect(beyond).toEqual([['src-q', 'unknown']]);
  const odd = new FakeBusClient();
  odd.quotas.set('src-q', { value: '{"v":2}', revision: 1 });
  expect(await edgeOn(odd).permits(limited({ callsAtOnce: 2 }), 1)).toHaveLength(0);
});

test('an unused share is returned after a while and when the edge stops', async () => {
  const store = new FakeBusClient();
  const { quotas, permits, time } = edgeOn(store);
  const [permit] = await permits(limited({ callsAtOnce: 2 }), 1);
  time.ms += IDLE_MS;
  quotas.renewDue();
  await until('the share is renewed again', async () =>
    JSON.stringify(await store.readQuota('src-q')).includes(String(time.ms + SHARE_MS)),
  );
  expect([quotas.size, await sharesOf(store)]).toEqual([1, ['e1']]);
  permit?.ended();
  time.ms += IDLE_MS;
  quotas.renewDue();
  await until('nothing is held', () => quotas.size === 0);
  expect(await sharesOf(store)).toEqual([]);
  const [last] = await permits(limited({ callsAtOnce: 2 }), 1);
  last?.ended();
  quotas.stop();
  await until('nothing is held', () => quotas.size === 0);
  expect(await sharesOf(store)).toEqual([]);
});

test('an edge holds shares of a limited number of sources', async () => {
  const { quotas } = edgeOn(new FakeBusClient());
  for (let at = 0; at < QUOTA_SOURCES_MAX; at += 1) await quotas.next([limited({ callsAtOnce: 1 }, `s${at}`)], () => 0);
  const beyond = limited({ callsAtOnce: 1 }, 'beyond');
  expect((await quotas.next([beyond, OTHER], () => 0)).at).toBe(1);
  expect((await quotas.next([beyond], () => 0)).permit.isOverQuota).toBe(true);
  expect(quotas.size).toBe(QUOTA_SOURCES_MAX);
});

test("a dead edge's share ends with its time, and its grants count as used", async () => {
  const bus = await startTestBus();
  stops.push(() => bus.stop());
  const time = { ms: Date.now() };
  const store = makeBusClient(await bus.connect('edge-proxy', 'e0'));
  const edge = async (name: string) => edgeOn(makeBusClient(await bus.connect('edge-proxy', name)), name, time);
  const [dying, other] = [await edge('e1'), await edge('e2')];
  const source = limited({ requestsPerMinute: 80, callsAtOnce: 4 });
  expect(await dying.permits(source, 4)).toHaveLength(4);
  expect(await other.permits(source, 1)).toHaveLength(0);
  const { value = '' } = (await store.readQuota('src-q')) ?? {};
  const share = quotaEntry.parse(JSON.parse(value)).shares['e1'];
  expect(share?.calls).toBe(4);
  time.ms = (share?.until ?? 0) + CLOCKS_DIFFER_MS_MAX - 1;
  expect(await other.permits(source, 1)).toHaveLength(0);
  expect(await sharesOf(store)).toEqual(['e1', 'e2']);
  time.ms += RENEW_MS;
  other.quotas.renewDue();
  // All requests that the dead edge was granted may have been sent.
  const used = (): number => other.quotas.useOf('src-q')?.requestsPerMinute?.used ?? 0;
  await until('its share has ended', () => used() >= (share?.granted ?? Infinity));
  expect(await sharesOf(store)).toEqual(['e2']);
  expect(await other.permits(source, 5)).toHaveLength(4);
  expect(other.failures).toEqual([]);
});

test('the bucket keeps entries longer than they are relevant', () => {
  expect(QUOTAS_BUCKET).toEqual({ name: 'quotas', ageMaxMs: 300_000, bytesMax: 64 * 1024 * 1024 });
  expect(QUOTAS_BUCKET.ageMaxMs).toBeGreaterThan(SHARE_MS + 2 * 66_000);
});
