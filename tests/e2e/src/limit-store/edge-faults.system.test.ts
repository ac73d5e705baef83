import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { parseUsd } from '@gateway/metering';
import { type ProviderSimulator, startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { HELLO, chat } from '../../test/call.js';
import { type LimitStoreState, connectRedis, readLimitStore, untilEmpty } from '../../test/limit-store.js';
import { type Caller, type ClientResult, type Load, type LoadOptions, startLoad } from '../../test/load.js';
import { type OwnSystem, SHORT_DURATIONS, startOwnSystem } from '../../test/own-system.js';
import { CENT, PRICES, computeCharge } from '../../test/prices.js';
import { type OpenStream, openStreams, scriptHeldStreams } from '../../test/streams.js';
import type { FaultSpan } from '../evidence/judge-call.js';
import { type ClientCall, compareLedger, isFaultResult, wrongAnswers } from './compare-ledger.js';
import { LOSSES, loseLimitStore } from '../faults/apply-fault.js';

const CREDIT_USD = '100.00';
/** Holds of 15 streams: ten on the broken edge and five on the healthy one, a cent each. */
const HELD_USD = '0.15';
const SLOTS = 200;
/**
 * Number of streams of the same account on the healthy edge. The failure of the other edge must not
 * affect them.
 */
const OTHERS = 5;
/** Each concurrent test breaks its own edge. No test breaks the edge HEALTHY. */
const BREAKING = { killed: 0, silent: 1, silentForLong: 2 } as const;
const HEALTHY = 3;
const EDGES = 4;
/** Longer than a lease, and than an expiry plus the query to billing that follows it. */
const FREED_WITHIN_MS = 30_000;
const EXPIRED_WITHIN_MS = 60_000;
/** Recovery waits up to 12 s for a silent edge (docs/protocol.md#r12). */
const OPEN_WITHIN_MS = 40_000;
const EMPTY_WITHIN_MS = 45_000;
/**
 * Number of checked responses while a replica hangs. NATS closes the replica's connection after two
 * to three seconds.
 */
const HUNG_ANSWERS = 150;
/**
 * After 250 ms without a reply, the edge retries at another replica. A request fails only after
 * four attempts without a reply.
 */
const HUNG_FAULTS_MAX = 3;
/** Half of the two seconds after which an edge stops retrying. */
const TRIED_MS = 1_000;

let system: OwnSystem;
let simulator: ProviderSimulator;
let redis: Redis;
beforeAll(async () => {
  system = await startOwnSystem('edge-faults', SHORT_DURATIONS, { 'edge-proxy': EDGES });
  simulator = await startProviderSimulator();
  redis = connectRedis(system.local.servers.redis.url);
}, 240_000);
afterAll(async () => {
  redis?.disconnect();
  await simulator?.close();
  await system?.stop();
}, 60_000);

interface Scene {
  /** The broken edge. */
  readonly edge: number;
  readonly creditUsd: string;
  readonly caller: Caller;
  /** Streams at the broken edge and at the healthy one. */
  readonly own: readonly OpenStream[];
  readonly others: readonly OpenStream[];
  release(which: 'own' | 'others'): void;
}

/**
 * Opens streams of one account at the broken edge and at the healthy one. Each group waits for its
 * release.
 */
async function openAtBothEdges(edge: number, ownCount: number, creditUsd = CREDIT_USD): Promise<Scene> {
  const { edgeUrls } = system.local.running();
  const caller = await system.operator.account(creditUsd);
  await system.operator.limits(caller.account, 1_000_000, SLOTS);
  const groups = [];
  for (const [at, count] of [
    [edge, ownCount],
    [HEALTHY, OTHERS],
  ] as const) {
    const { id } = await system.operator.model(CENT, [simulator.urls[0]]);
    const upstream = `up-${id.slice(id.indexOf('/') + 1)}`;
    scriptHeldStreams(simulator, upstream, count);
    groups.push({ upstream, streams: await openStreams(count, [edgeUrls[at] ?? ''], caller, id) });
    const open = groups.reduce((sum, { streams }) => sum + streams.length, 0);
    // Requests that were not decided release their slots and holds later.
    await until('only the streams have slots and holds', async () => {
      const { slots, holds } = await readState(caller);
      return slots === open && holds === open;
    });
  }
  const [own, others] = groups;
  return {
    edge,
    creditUsd,
    caller,
    own: own?.streams ?? [],
    others: others?.streams ?? [],
    release(which) {
      const group = which === 'own' ? own : others;
      simulator.release(group?.upstream ?? '', group?.streams.length);
    },
  };
}

function readState(caller: Caller): Promise<LimitStoreState> {
  return readLimitStore(redis, caller.account);
}

/** Freezes a process while `work` runs, and resumes it in any case. */
async function whileFrozen<T>(
  name: 'edge-proxy' | 'admission',
  n: number,
  work: () => Promise<T>,
): Promise<{ done: T; fault: FaultSpan }> {
  const process = system.local.children(name)[n];
  const from = Date.now();
  process?.kill('SIGSTOP');
  let done: T;
  try {
    done = await work();
  } finally {
    process?.kill('SIGCONT');
  }
  return { done, fault: { from, until: Date.now() } };
}

/** Expects only responses that are expected or that the fault explains, and prints the latter. */
function expectAnswers(seen: readonly ClientResult[], expected: string, fault: FaultSpan): void {
  expect(wrongAnswers(seen, expected, fault)).toEqual([]);
  console.info(`${seen.filter(isFaultResult).length} responses with 500 because of the fault`);
}

async function underLoad<T>(options: LoadOptions, work: (load: Load) => Promise<T>): Promise<T> {
  const load = startLoad(options);
  try {
    return await work(load);
  } finally {
    await load.stop();
  }
}

/**
 * Waits until the slots of the broken edge are free while its holds still exist. The slots of the
 * healthy edge must not change.
 */
async function onlyOwnSlotsAreFreed(scene: Scene): Promise<void> {
  const all = scene.own.length + OTHERS;
  await until(
    'the slots are free after the lease, the holds not yet',
    async () => {
      const { slots, holds } = await readState(scene.caller);
      expect(slots).toBeGreaterThanOrEqual(OTHERS);
      return slots === OTHERS && holds === all;
    },
    FREED_WITHIN_MS,
  );
}

/**
 * Expects one record without a charge for each request of the broken edge. The requests of the
 * healthy edge must still be open.
 */
async function onlyOwnExpired(scene: Scene): Promise<void> {
  const ids = scene.own.map(({ requestId }) => requestId).sort();
  const records = await until(
    'all calls are recorded as expired',
    async () => {
      const found = await system.operator.records(scene.caller.account);
      return found.length >= ids.length && found;
    },
    EXPIRED_WITHIN_MS,
  );
  expect(records.map(({ requestId }) => requestId).sort()).toEqual(ids);
  for (const record of records) expect(record).toMatchObject({ outcome: 'expired', chargedUsd: '0.00' });
  expect(await system.operator.walletUsd(scene.caller.account)).toBe(scene.creditUsd);
  await until('their holds are gone', async () => (await readState(scene.caller)).holds === OTHERS, EXPIRED_WITHIN_MS);
  expect((await readState(scene.caller)).slots).toBe(OTHERS);
}

/**
 * Waits until both edges have sent another heartbeat, so that the limit store and the heartbeat
 * stream contain all streams.
 */
async function awaitBothHeartbeats({ caller }: Scene): Promise<void> {
  const latest = Math.max(...(await readState(caller)).dueTimes);
  await until('both edges have sent a heartbeat', async () =>
    (await readState(caller)).dueTimes.every((due) => due > latest),
  );
}

/** Waits until the edge serves a request of another account. */
async function edgeServes({ edge }: Scene): Promise<void> {
  const { edgeUrls, providerUrls } = system.local.running();
  const { secret } = await system.operator.account('1.00');
  const { id } = await system.operator.model(CENT, providerUrls);
  await until('the edge serves', async () => {
    const answer = await chat(`${edgeUrls[edge]}/v1/chat/completions`, secret, { model: id, messages: HELLO });
    return answer.status === 200;
  });
}

/** Ends the streams and expects each of them to be complete. */
async function endStreams(scene: Scene, which: 'own' | 'others'): Promise<void> {
  scene.release(which);
  const ends = await Promise.all(scene[which].map(({ ended }) => ended));
  expect(ends.filter(({ complete }) => !complete)).toEqual([]);
}

/**
 * Expects one charge of a cent for each ended stream, no charge for the others, and no remaining
 * slots and holds.
 */
async function expectCharged(
  scene: Scene,
  ended: readonly OpenStream[],
  refused: readonly ClientCall[] = [],
): Promise<void> {
  const paid = new Set(ended);
  const streams = [...scene.own, ...scene.others];
  const calls = streams.map((stream) => ({
    requestId: stream.requestId,
    chargeNanoUsd: paid.has(stream) ? parseUsd(CENT.perCall) : null,
  }));
  const { account } = scene.caller;
  const all = [...calls, ...refused];
  const { settled, uncharged, differences } = await compareLedger(system.operator, account, scene.creditUsd, all);
  expect(differences).toEqual([]);
  expect([settled, uncharged]).toEqual([paid.size, calls.length - paid.size]);
  for (const { requestId } of ended) {
    const { transactions } = await system.operator.record(requestId);
    const taken = transactions.flatMap(({ entries }) =>
      entries.filter((entry) => entry.ledgerAccount === `wallet:${account}`),
    );
    expect(taken.map(({ amountUsd }) => amountUsd)).toEqual([`-${CENT.perCall}`]);
  }
  await untilEmpty(redis, account, EMPTY_WITHIN_MS);
}

// Covers an edge is killed; i4
test.concurrent('a killed edge cuts its streams, its slots become free, and its calls expire at 0', async () => {
  const scene = await openAtBothEdges(BREAKING.killed, 50);
  const edge = system.local.children('edge-proxy')[BREAKING.killed];
  const pid = edge?.pid;
  edge?.kill('SIGKILL');
  const ends = await Promise.all(scene.own.map(({ ended }) => ended));
  expect(ends.filter(({ cut, text }) => !cut || text.includes('[DONE]'))).toEqual([]);
  await onlyOwnSlotsAreFreed(scene);
  await until('the edge has restarted', () => edge?.pid != null && edge.pid !== pid);
  await edge?.ready();
  await onlyOwnExpired(scene);
  await endStreams(scene, 'others');
  await expectCharged(scene, scene.others);
}, 150_000);

test.concurrent('an edge that returns after its leases ends its streams and charges them once', async () => {
  const scene = await openAtBothEdges(BREAKING.silent, 10);
  await whileFrozen('edge-proxy', BREAKING.silent, () => onlyOwnSlotsAreFreed(scene));
  await edgeServes(scene);
  await awaitBothHeartbeats(scene);
  expect(await readState(scene.caller)).toMatchObject({ slots: OTHERS, holds: scene.own.length + OTHERS });
  await endStreams(scene, 'own');
  await endStreams(scene, 'others');
  await expectCharged(scene, [...scene.own, ...scene.others]);
}, 150_000);

// Covers an edge is cut off from NATS
test.concurrent('an edge that returns after the expiry replaces its records and charges once', async () => {
  const scene = await openAtBothEdges(BREAKING.silentForLong, 10);
  await whileFrozen('edge-proxy', BREAKING.silentForLong, async () => {
    await onlyOwnSlotsAreFreed(scene);
    await onlyOwnExpired(scene);
  });
  await edgeServes(scene);
  expect(await readState(scene.caller)).toMatchObject({ slots: OTHERS, holds: OTHERS });
  await endStreams(scene, 'own');
  await until('all records are settled', async () => {
    const records = await system.operator.records(scene.caller.account);
    return records.every(({ outcome }) => outcome === 'settled');
  });
  expect(await readState(scene.caller)).toMatchObject({ slots: OTHERS, holds: OTHERS });
  await endStreams(scene, 'others');
  await expectCharged(scene, [...scene.own, ...scene.others]);
}, 150_000);

// Covers Redis is gone, emptied or failed over
test.each(LOSSES)(
  'a silent edge keeps its holds when Redis is %s',
  async (loss) => {
    const scene = await openAtBothEdges(BREAKING.silent, 10, HELD_USD);
    await awaitBothHeartbeats(scene);
    const { edgeUrls, providerUrls } = system.local.running();
    const { id } = await system.operator.model(CENT, providerUrls);
    const { done: spent, fault } = await whileFrozen('edge-proxy', BREAKING.silent, async () => {
      await loseLimitStore(system.local.servers.redis, loss);
      const urls = edgeUrls.filter((_, edge) => edge !== BREAKING.silent);
      return underLoad({ urls, model: id, callers: [scene.caller], atOnce: 2, pauseMs: 100 }, async (load) => {
        await until(
          'the limit store is open',
          () => load.seen.filter(({ status }) => status !== null && status < 500).length >= 5,
          OPEN_WITHIN_MS,
        );
        return load.stop();
      });
    });
    expectAnswers(spent, '402 insufficient_credits', fault);
    await edgeServes(scene);
    await endStreams(scene, 'own');
    await endStreams(scene, 'others');
    const refused = spent.map(({ requestId }) => ({ requestId: requestId ?? '', chargeNanoUsd: null }));
    await expectCharged(scene, [...scene.own, ...scene.others], refused);
  },
  150_000,
);

// Covers a replica of admission is killed or hangs
test('a hung admission causes retries, and nothing is held twice when it resumes', async () => {
  const { edgeUrls, providerUrls } = system.local.running();
  const { id } = await system.operator.model(PRICES, providerUrls);
  const callers = await Promise.all(Array.from({ length: 3 }, () => system.operator.account(CREDIT_USD)));
  for (const { account } of callers) await system.operator.limits(account, 1_000_000, SLOTS);
  // Two edges are enough to cover the retries and the normal path.
  const options = { urls: edgeUrls.slice(0, 2), model: id, callers, atOnce: 3, pauseMs: 150 };
  const { seen, hung, fault } = await underLoad(options, async (load) => {
    const more = async (count: number): Promise<void> => {
      const before = load.seen.length;
      await until(`${count} more responses`, () => load.seen.length >= before + count, 60_000);
    };
    await more(30);
    const frozenFrom = load.seen.length;
    const { done, fault } = await whileFrozen('admission', 0, async () => {
      await more(HUNG_ANSWERS);
      return load.seen.slice(frozenFrom);
    });
    await more(60);
    return { seen: await load.stop(), hung: done, fault };
  });
  expectAnswers(seen, '200', fault);
  const served = hung.filter(({ status }) => status === 200);
  expect(served.length).toBeGreaterThan(HUNG_ANSWERS / 2);
  // A failed request is a fault of the hung replica if another request started at least a second
  // later, ended earlier and succeeded. Otherwise the whole machine had stalled.
  const faults = hung.filter(
    ({ status, begunAt, endedAt }) =>
      status !== 200 &&
      served.some((other) => Date.parse(other.begunAt) > Date.parse(begunAt) + TRIED_MS && other.endedAt < endedAt),
  );
  expect(faults.length).toBeLessThanOrEqual(HUNG_FAULTS_MAX);
  for (const { account } of callers) {
    await untilEmpty(redis, account, EMPTY_WITHIN_MS);
    const calls = seen
      .filter((call) => call.account === account)
      .map(({ requestId, usage }) => ({ requestId: requestId ?? '', chargeNanoUsd: usage && computeCharge(usage) }));
    expect((await compareLedger(system.operator, account, CREDIT_USD, calls)).differences).toEqual([]);
  }
}, 150_000);
