// One replica of admission with its own Redis and without a bus, to measure the decision alone.
import { makeUuidV7 } from '@gateway/contracts/ids';
import { WALLET_ROW, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import { startServers } from '@gateway/servers';
import { Redis } from 'ioredis';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisClock } from '../dist/limit-store/redis-clock.js';
import { RedisLimitStore } from '../dist/limit-store/redis-limit-store.js';
import { Admission } from '../dist/admission.js';
import { buildCatalogView } from '../dist/admit/catalog-view-rules.js';
import { ENDPOINT, ENOUGH_NANO_USD, MODEL, digestOf, makeOwners, model, source } from './accounts.mjs';

const LOOK_MS = 5;
const USED_SHARE = 100;
const BOUNDS = { promptBytes: 1_000, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 };
export const silent = { debug() {}, info() {}, warn: console.warn, error: console.error };

export async function startLimitStore({ withPlan, log = silent }) {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-bench-'));
  const servers = await startServers(['redis'], {
    stateDirectory: directory,
    env: {},
    durable: false,
  });
  const side = new Redis(servers.redis.url);
  side.on('error', () => {});
  const unbound = () => side.config('SET', 'maxmemory', '0');
  await unbound();
  const clock = new RedisClock();
  const limitStore = new RedisLimitStore(servers.redis.url, clock, silent);
  limitStore.open();
  const view = buildCatalogView([model], [source]);
  const admission = new Admission({
    limitStore,
    clock,
    owners: makeOwners(withPlan),
    log,
    replica: 'bench',
    edges: {
      listens: () => true,
      lastHeartbeats: async () => [],
      heartbeatMarks: async () => [],
      forget: async () => {},
      heartbeatReply() {},
      report() {},
    },
    journal: { store: async () => {} },
    listeners: { keysUsed: () => true, callsRefused: () => true },
    catalog: { view: () => view },
    backPressure: { engaged: () => null },
    durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: 1_000, decideMs: 60_000 },
  });
  const reopen = async () => {
    await admission.sweep();
    await until(() => admission.bucketsPending() === 0);
  };
  await until(() => limitStore.usable());
  await reopen();
  return {
    admission,
    clock,
    limitStore,
    side,
    /** Kills Redis, which restarts from its file. Resolves when all buckets are open again. */
    async restart() {
      await side.save();
      await servers.redis.restart({ kill: true });
      await until(() => limitStore.usable() && side.status === 'ready');
      await unbound();
      await reopen();
    },
    async flush() {
      await side.flushall();
      await reopen();
    },
    redisCpuMicros: () => readCpu(side),
    memoryBytes: async () => numberIn(await side.info('memory'), 'used_memory'),
    async stop() {
      await admission.stop();
      limitStore.close();
      side.disconnect();
      await servers.redis.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Admits one call for each number, in one message. Returns their releases. */
export async function admit({ admission, clock }, numbers) {
  const answers = [];
  await admission.batch(
    { edge: 'edge-1', opens: [], releases: [], admits: numbers.map((number) => entryOf(number, clock.now())) },
    (reply) => answers.push(...reply.answers),
  );
  return answers.map((answer) => {
    if (answer.kind !== 'admitted') throw new Error(`a call was not admitted: ${JSON.stringify(answer)}`);
    const { id, hold, token } = answer;
    return {
      blind: false,
      id,
      hold,
      tag: token,
      outcome: 'ok',
      amountNanoUsd: Math.floor(hold.worstNanoUsd / USED_SHARE),
    };
  });
}

export function entryOf(number, now) {
  return {
    id: makeUuidV7(now),
    digests: [digestOf(number)],
    endpoint: ENDPOINT,
    model: MODEL,
    bounds: BOUNDS,
    bodyRefusal: null,
    opened: false,
    traceparent: undefined,
  };
}

export async function release({ admission }, releases) {
  await admission.batch({ edge: 'edge-1', opens: [], admits: [], releases }, () => {});
}

/** Sends billing's snapshot after it has settled the calls: changed balances and closed IDs. */
export async function settle({ admission }, releases, version) {
  const accounts = new Map();
  for (const { id, hold } of releases) {
    const snapshot = accounts.get(hold.account) ?? { account: hold.account, rows: rowsOf(hold, version), closed: [] };
    snapshot.closed.push(id);
    accounts.set(hold.account, snapshot);
  }
  await admission.applySnapshots({
    incarnation: '0192a000-1ed6-7000-8000-00000000beef',
    accounts: [...accounts.values()],
  });
}

function rowsOf({ key, member, periods }, version) {
  const { month, weekly, subscription } = periods;
  const amounts = [WALLET_ROW, keyMonthRow(key, month), memberMonthRow(member, month)];
  const windows = subscription ? [weeklyWindowRow('usd', weekly), monthlyWindowRow('usd', subscription.id)] : [];
  const valueOf = (name) => (name === WALLET_ROW ? ENOUGH_NANO_USD : version);
  return [...amounts, ...windows].map((name) => ({ name, value: valueOf(name), version }));
}

export function numberIn(facts, name) {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(facts)?.[1]);
}

async function readCpu(side) {
  const facts = await side.info('cpu');
  return (numberIn(facts, 'used_cpu_user') + numberIn(facts, 'used_cpu_sys')) * 1e6;
}

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
