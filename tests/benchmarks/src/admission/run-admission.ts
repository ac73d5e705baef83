import { setTimeout as delay } from 'node:timers/promises';
import { Admission } from '@gateway/admission/admission.js';
import { RedisClock } from '@gateway/admission/limit-store/redis-clock.js';
import { RedisLimitStore } from '@gateway/admission/limit-store/redis-limit-store.js';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type {
  BodyOf,
  ReceivedOf,
  ReleaseEntry,
  admissionBatch,
  billingBalanceSnapshots,
} from '@gateway/contracts/messages';
import { WALLET_ROW, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import { startServers } from '@gateway/servers';
import { percentile, silentLog } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { MODEL } from '../billing/events.js';
import { type BenchContext, openRunDirectory } from '../context.js';
import type { BenchOptions } from '../options.js';
import { type Report, formatNumber, table } from '../report.js';
import { CATALOG, ENDPOINT, ENOUGH_NANO_USD, LEDGER_EPOCH, createOwners, digestOf } from './owners.js';

/** The number of called accounts is constant, so caches have the same size with many accounts. */
const CALLED_ACCOUNTS = 1_000;
const BATCHES = [1, 4, 16, 64];
const OPEN_CALLS = 10_000;
const POLL_MS = 5;
const USED_SHARE = 100;
const CALLS_AT_ONCE = 100;
const EDGE = { edge: 'edge-1', opens: [] };
const BOUNDS = { promptBytes: 1_000, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 };

type Batch = ReceivedOf<typeof admissionBatch>;
type Releases = Extract<ReleaseEntry, { blind: false }>[];
type Snapshot = BodyOf<typeof billingBalanceSnapshots>['accounts'][number];

/** Accounts with a wallet, or with a plan that has three windows in USD. */
interface Kind {
  readonly name: string;
  readonly withPlan: boolean;
}
const KINDS: readonly Kind[] = [
  { name: 'wallet', withPlan: false },
  { name: 'plan', withPlan: true },
];

/** Measures decisions: processor time, and memory of Redis. */
export async function runAdmission(options: BenchOptions, context: BenchContext): Promise<Report> {
  const directory = openRunDirectory(context.ending);
  const kinds: Awaited<ReturnType<typeof measureKind>>[] = [];
  for (const kind of KINDS) kinds.push(await measureKind(kind, directory, options, context));
  return {
    title: 'Cost of a decision',
    facts: [
      ['Call', 'admission, release with its cost, settlement: three scripts. Redis runs without persistence'],
      ['Figures', 'lower quartile of short rounds'],
      ['Accounts', 'one key each; on a plan with a window of each type in USD'],
    ],
    sections: [
      table(
        'Processor time per call',
        ['calls in a message', ...kinds.flatMap(({ name }) => [`${name}: Redis, µs`, `${name}: admission, µs`])],
        BATCHES.map((size, at) => [size, ...kinds.flatMap(({ costs }) => costs[at] ?? [])]),
      ),
      table(
        `Memory of Redis with ${formatNumber(options.accounts)} accounts, bytes`,
        ['', 'account after a call', 'open call'],
        kinds.map(({ name, memory }) => [name, ...memory.map(Math.round)]),
      ),
    ],
    samples: { kinds },
  };
}

async function measureKind(kind: Kind, directory: string, options: BenchOptions, context: BenchContext) {
  const store = await BenchStore.start(kind, directory, context);
  const memory = await measureMemory(store, options.accounts);
  context.log(`${kind.name}: ${options.accounts} accounts are loaded`);
  const costs: number[][] = [];
  for (const size of BATCHES) {
    context.signal.throwIfAborted();
    costs.push(await measureCalls(store, size, options));
  }
  return { name: kind.name, memory, costs };
}

/** Returns the bytes of an account after its first call, and those of an open call. */
async function measureMemory(store: BenchStore, accounts: number): Promise<number[]> {
  const before = await store.memoryBytes();
  await store.callEach(accounts);
  const called = await store.memoryBytes();
  const open = await store.callEach(Math.min(OPEN_CALLS, accounts), true);
  const bytes = [(called - before) / accounts, ((await store.memoryBytes()) - called) / open.length];
  await store.end(open, 2);
  return bytes;
}

/** Returns the CPU microseconds of Redis and admission per call: the lower quartile of rounds. */
async function measureCalls(store: BenchStore, size: number, options: BenchOptions): Promise<number[]> {
  const { accounts, calls, rounds } = options;
  const [redis, admission]: [number[], number[]] = [[], []];
  const messages = Math.max(1, Math.round(calls / rounds / size));
  const step = Math.max(1, Math.floor(accounts / CALLED_ACCOUNTS));
  let [version, at] = [3, 0];
  const nextNumber = () => ((at += 1) % CALLED_ACCOUNTS) * step;
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const [redisBefore, cpuBefore] = [await store.redisCpuMicros(), process.cpuUsage()];
    for (let message = 0; message < messages; message += 1)
      await store.end(await store.admit(Array.from({ length: size }, nextNumber)), (version += 1));
    const { user, system } = process.cpuUsage(cpuBefore);
    if (round === 0) continue;
    admission.push((user + system) / (messages * size));
    redis.push(((await store.redisCpuMicros()) - redisBefore) / (messages * size));
  }
  return [percentile(redis, 25), percentile(admission, 25)];
}

/** One replica of admission with its own Redis and without a bus, to measure the decision alone. */
class BenchStore {
  readonly #clock = new RedisClock();
  readonly #admission: Admission;
  readonly #limitStore: RedisLimitStore;
  readonly #side: Redis;

  private constructor(url: string, withPlan: boolean) {
    this.#side = new Redis(url);
    this.#side.on('error', () => undefined);
    this.#limitStore = new RedisLimitStore(url, this.#clock, silentLog);
    this.#limitStore.open();
    this.#admission = new Admission({
      limitStore: this.#limitStore,
      clock: this.#clock,
      owners: createOwners(withPlan),
      log: silentLog,
      replica: 'bench',
      edges: {
        listens: () => true,
        lastHeartbeats: async () => [],
        heartbeatMarks: async () => [],
        forget: async () => undefined,
        heartbeatReply: () => undefined,
        report: () => undefined,
      },
      journal: { store: async () => undefined },
      listeners: { keysUsed: () => true, callsRefused: () => true },
      catalog: { view: () => CATALOG },
      backPressure: { engaged: () => null },
      durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: 1_000, decideMs: 60_000 },
    });
  }

  static async start({ name, withPlan }: Kind, directory: string, { ending }: BenchContext): Promise<BenchStore> {
    const stateDirectory = `${directory}/${name}`;
    const { redis } = await startServers(['redis'], { stateDirectory, env: {}, durable: false });
    ending.add(`the Redis of ${name}`, () => redis.stop());
    const store = new BenchStore(redis.url, withPlan);
    ending.add(`the admission of ${name}`, () => store.#close());
    while (!store.#limitStore.usable() || store.#side.status !== 'ready') await delay(POLL_MS);
    await store.#side.config('SET', 'maxmemory', '0');
    await store.#admission.sweep();
    while (store.#admission.bucketsPending() > 0) await delay(POLL_MS);
    return store;
  }

  async redisCpuMicros(): Promise<number> {
    return ((await this.#info('cpu', 'used_cpu_user')) + (await this.#info('cpu', 'used_cpu_sys'))) * 1e6;
  }

  memoryBytes(): Promise<number> {
    return this.#info('memory', 'used_memory');
  }

  /** Admits one call for each number, in one message. Returns their releases. */
  async admit(numbers: readonly number[]): Promise<Releases> {
    const releases: Releases = [];
    const admits = numbers.map((n) => createEntry(n, this.#clock.now()));
    await this.#admission.batch({ ...EDGE, releases: [], admits }, ({ answers }) => {
      for (const answer of answers) {
        if (answer.kind !== 'admitted' || answer.hold === null)
          throw new Error(`a call was not admitted: ${JSON.stringify(answer)}`);
        const { id, hold, epoch: callEpoch } = answer;
        const amountNanoUsd = Math.floor(hold.worstNanoUsd / USED_SHARE);
        releases.push({ blind: false, id, hold, callEpoch, outcome: 'ok', amountNanoUsd });
      }
    });
    return releases;
  }

  /**
   * Releases calls and sends billing's snapshot after it has settled them: changed balances and
   * closed IDs.
   */
  async end(releases: Releases, version: number): Promise<void> {
    await this.#admission.batch({ ...EDGE, admits: [], releases }, () => undefined);
    const accounts = new Map<string, Snapshot>();
    for (const { id, hold } of releases) {
      const { account, key, member, periods } = hold;
      const { month, weekly, subscription } = periods;
      const windows = subscription
        ? [weeklyWindowRow('usd', weekly ?? 0), monthlyWindowRow('usd', subscription.id)]
        : [];
      const names = [WALLET_ROW, keyMonthRow(key, month), memberMonthRow(member, month), ...windows];
      const rows = names.map((name) => ({ name, value: name === WALLET_ROW ? ENOUGH_NANO_USD : version, version }));
      const closed = [...(accounts.get(account)?.closed ?? []), id];
      accounts.set(account, { account, rows, closed });
    }
    await this.#admission.applySnapshots({ ledgerEpoch: LEDGER_EPOCH, accounts: [...accounts.values()] });
  }

  /** Makes a call of each account from 0 to `count`. Returns those that it leaves open. */
  async callEach(count: number, isLeftOpen = false): Promise<Releases> {
    const all: Releases = [];
    for (let from = 0; from < count; from += CALLS_AT_ONCE) {
      const length = Math.min(CALLS_AT_ONCE, count - from);
      const some = await this.admit(Array.from({ length }, (_unused, at) => from + at));
      if (isLeftOpen) all.push(...some);
      else await this.end(some, 2);
    }
    return all;
  }

  async #info(section: string, name: string): Promise<number> {
    return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await this.#side.info(section))?.[1]);
  }

  async #close(): Promise<void> {
    await this.#admission.stop();
    this.#limitStore.close();
    this.#side.disconnect();
  }
}

function createEntry(n: number, now: number): Batch['admits'][number] {
  return {
    id: makeUuidV7(now),
    digests: [digestOf(n)],
    endpoint: ENDPOINT,
    model: MODEL,
    bounds: BOUNDS,
    bodyRefusal: null,
    opened: false,
    traceparent: undefined,
  };
}
