import { setTimeout as delay } from 'node:timers/promises';
import { Admission } from '@gateway/admission/admission.js';
import { buildApplyCall } from '@gateway/admission/apply/apply-script.js';
import { findBucketKeys, formatReferenceKey } from '@gateway/admission/limit-store/key-rules.js';
import { RedisClock } from '@gateway/admission/limit-store/redis-clock.js';
import { RedisLimitStore } from '@gateway/admission/limit-store/redis-limit-store.js';
import { bucketOfAccount, makeUuidV7 } from '@gateway/contracts/ids';
import type {
  BodyOf,
  ReceivedOf,
  ReleaseEntry,
  admissionBatch,
  billingBalanceSnapshots,
} from '@gateway/contracts/messages';
import { WALLET_ROW, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import { startServers } from '@gateway/servers';
import { silentLog } from '@gateway/testkit';
import { Redis } from 'ioredis';
import type { BenchContext } from '../context.js';
import {
  CATALOG,
  ENDPOINT,
  ENOUGH_NANO_USD,
  LEDGER_EPOCH,
  MODEL,
  accountOf,
  createOwners,
  createRecords,
  createSnapshot,
  digestOf,
  keyOf,
} from './accounts.js';

const POLL_MS = 5;
const USED_SHARE = 100;
const ACCOUNTS_AT_ONCE = 500;
const CALLS_AT_ONCE = 100;
const REFERENCE_SECONDS = 90 * 86_400;
const EDGE = { edge: 'edge-1', opens: [] };
const BOUNDS = { promptBytes: 1_000, arrayElements: 0, attachments: 0, outputTokensMax: 1_000 };

type Batch = ReceivedOf<typeof admissionBatch>;
export type Releases = Extract<ReleaseEntry, { blind: false }>[];
type Snapshot = BodyOf<typeof billingBalanceSnapshots>['accounts'][number];

/** One replica of admission with its own Redis and without a bus, to measure the decision alone. */
export class BenchStore {
  readonly clock = new RedisClock();
  readonly admission: Admission;
  readonly #limitStore: RedisLimitStore;
  readonly #side: Redis;

  private constructor(
    url: string,
    private readonly withPlan: boolean,
  ) {
    this.#side = new Redis(url);
    this.#side.on('error', () => undefined);
    this.#limitStore = new RedisLimitStore(url, this.clock, silentLog);
    this.#limitStore.open();
    this.admission = new Admission({
      limitStore: this.#limitStore,
      clock: this.clock,
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

  /** `name` is unique among the stores of the run. @param withPlan false: wallet accounts */
  static async start(
    name: string,
    withPlan: boolean,
    directory: string,
    { ending }: BenchContext,
  ): Promise<BenchStore> {
    const stateDirectory = `${directory}/${name}`;
    const { redis } = await startServers(['redis'], { stateDirectory, env: {}, durable: false });
    ending.add(`the Redis of ${name}`, () => redis.stop());
    const store = new BenchStore(redis.url, withPlan);
    ending.add(`the admission of ${name}`, () => store.#close());
    while (!store.#limitStore.usable() || store.#side.status !== 'ready') await delay(POLL_MS);
    await store.#side.config('SET', 'maxmemory', '0');
    await store.admission.sweep();
    while (store.admission.bucketsPending() > 0) await delay(POLL_MS);
    return store;
  }

  async redisCpuMicros(): Promise<number> {
    return ((await this.#info('cpu', 'used_cpu_user')) + (await this.#info('cpu', 'used_cpu_sys'))) * 1e6;
  }

  memoryBytes(): Promise<number> {
    return this.#info('memory', 'used_memory');
  }

  /**
   * Loads the accounts with the numbers from 0 to `total` with the scripts and key
   * references of a load, but without a request for each.
   */
  async fill(total: number): Promise<void> {
    const epochs = new Map<string, string>();
    const begun = Date.now();
    const createLoad = async (n: number) => {
      const { account: record, key, member } = createRecords(n);
      const keys = findBucketKeys(bucketOfAccount(record.account));
      const token = epochs.get(keys.token) ?? (await this.#side.get(keys.token))?.split(' ')[0] ?? '';
      epochs.set(keys.token, token);
      const standing = createSnapshot(n, this.withPlan, begun);
      const records = { record, keyRecords: [key], members: [member], standing };
      const stamp = { token, startedAt: this.clock.now(), complete: true, caughtUp: true, version: 1 };
      return buildApplyCall(keys, { account: record.account, incarnation: LEDGER_EPOCH, ...records }, stamp);
    };
    for (let at = 0; at < total; at += ACCOUNTS_AT_ONCE) {
      const numbers = Array.from({ length: Math.min(total - at, ACCOUNTS_AT_ONCE) }, (_unused, offset) => at + offset);
      const references = this.#side.pipeline();
      for (const n of numbers)
        references.set(formatReferenceKey(digestOf(n)), `${accountOf(n)}|${keyOf(n)}`, 'EX', REFERENCE_SECONDS);
      await references.exec();
      for (let left = numbers; left.length > 0;) {
        const replies = await this.#limitStore.run(await Promise.all(left.map(createLoad)));
        // A load that took too long, on a busy machine, writes nothing.
        left = left.filter((_n, index) => (replies[index] as readonly unknown[])[0] !== 'applied');
      }
    }
  }

  /** Admits one call for each number, in one message. Returns their releases. */
  async admit(numbers: readonly number[]): Promise<Releases> {
    const releases: Releases = [];
    const admits = numbers.map((n) => createEntry(n, this.clock.now()));
    await this.admission.batch({ ...EDGE, releases: [], admits }, ({ answers }) => {
      for (const answer of answers) {
        if (answer.kind !== 'admitted' || answer.hold === null)
          throw new Error(`a call was not admitted: ${JSON.stringify(answer)}`);
        const { id, hold, token } = answer;
        const amountNanoUsd = Math.floor(hold.worstNanoUsd / USED_SHARE);
        releases.push({ blind: false, id, hold, tag: token, outcome: 'ok', amountNanoUsd });
      }
    });
    return releases;
  }

  async release(releases: Releases): Promise<void> {
    await this.admission.batch({ ...EDGE, admits: [], releases }, () => undefined);
  }

  /** Sends billing's snapshot after it has settled the calls: changed balances and closed IDs. */
  async settle(releases: Releases, version: number): Promise<void> {
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
    await this.admission.applySnapshots({ incarnation: LEDGER_EPOCH, accounts: [...accounts.values()] });
  }

  /** Admits a call of each account from 0 to `count`. */
  async admitAll(count: number): Promise<Releases> {
    const all: Releases = [];
    for (let from = 0; from < count; from += CALLS_AT_ONCE) {
      const length = Math.min(CALLS_AT_ONCE, count - from);
      all.push(...(await this.admit(Array.from({ length }, (_unused, at) => from + at))));
    }
    return all;
  }

  async endAll(releases: Releases): Promise<void> {
    for (let from = 0; from < releases.length; from += CALLS_AT_ONCE) {
      const some = releases.slice(from, from + CALLS_AT_ONCE);
      await this.release(some);
      await this.settle(some, 2);
    }
  }

  async #info(section: string, name: string): Promise<number> {
    return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await this.#side.info(section))?.[1]);
  }

  async #close(): Promise<void> {
    await this.admission.stop();
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
