import { bucketOfAccount } from '@gateway/contracts/ids';
import type { HoldFields } from '@gateway/contracts/messages';
import { silentLog } from '@gateway/testkit';
import { testEpoch } from '@gateway/testkit/random';
import { Admission } from '../../src/admission.js';
import { isGone } from '../../src/heartbeats/last-heartbeats-rules.js';
import type { StoredHeartbeat } from '../../src/heartbeats/last-heartbeats-rules.js';
import { findBucketKeys } from '../../src/limit-store/key-rules.js';
import { ASKED_AGAIN_MAX, readSweepReply, buildSweepCall } from '../../src/sweep/sweep-script.js';
import { AdmissionFault } from '../../src/ports.js';
import type { Heartbeat, Ports } from '../../src/ports.js';
import { LedgerClient } from '../../src/sweep/ledger-client.js';
import { Directory } from './directory.js';
import { FrozenClock, FrozenLimitStore } from './frozen-limit-store.js';
import type { FrozenRedis } from './frozen-limit-store.js';
import { Ledger } from './ledger.js';
import { EXPIRY_MS, ModelLimitStore } from './model-limit-store.js';
import type { ModelHold } from './model-state.js';
import { NO_PLAN, catalogFrom } from './scene.js';

/** A call as its edge knows it. */
export interface EdgeCall {
  readonly id: string;
  readonly hold: HoldFields;
  /** Epoch of its hold, as last reported to the edge. */
  callEpoch: string;
  readonly edge: string;
}

export interface EndedCall extends EdgeCall {
  readonly outcome: 'ok' | 'void';
  readonly amountNanoUsd: number;
}

export const EDGES = ['edge1', 'edge2'] as const;
const REPLICAS = 2;

/** One account with its environment: two replicas on one bucket of Redis, and the model. */
export class Stage {
  readonly clock: FrozenClock;
  readonly limitStore: FrozenLimitStore;
  readonly replicas: readonly Admission[];
  readonly directory: Directory;
  readonly ledger: Ledger;
  readonly model: ModelLimitStore;
  readonly catalog;
  readonly running: EdgeCall[] = [];
  readonly ended: EndedCall[] = [];
  /** Ended calls whose release was not delivered. */
  readonly unreleased: EndedCall[] = [];
  readonly kept = new Map<string, StoredHeartbeat>();
  readonly deadEdges = new Set<string>();
  readonly heartbeatReplies: Parameters<Ports['edges']['heartbeatReply']>[1][] = [];
  readonly expired: string[] = [];
  reportedEpoch: string | null = null;
  readonly #ledgerClient: LedgerClient;
  #heartbeats = 0;
  #ids = 0;

  constructor(
    private readonly redis: FrozenRedis,
    public readonly bucket: number,
    private readonly name: number,
    public now: number,
  ) {
    const account = accountIn(bucket, name);
    this.clock = new FrozenClock(now);
    this.limitStore = new FrozenLimitStore(redis, this.clock, bucket);
    this.directory = new Directory(account, name);
    this.ledger = new Ledger(account, NO_PLAN);
    this.catalog = catalogFrom(now);
    this.model = new ModelLimitStore(this.catalog, this.directory, this.ledger, now);
    this.replicas = Array.from({ length: REPLICAS }, (_unused, index) => new Admission(this.#ports(`replica${index}`)));
    this.#ledgerClient = new LedgerClient(this.#ports('sweeper'));
  }

  get account(): string {
    return this.directory.account;
  }

  moveTo(now: number): void {
    this.now = now;
    this.clock.set(now);
    this.model.now = now;
  }

  /** Creates a UUIDv7 that is the same when the sequence is replayed. */
  newId(time: number): string {
    this.#ids += 1;
    const ms = time.toString(16).padStart(12, '0');
    const tail = `${this.name.toString(16).padStart(8, '0')}${this.#ids.toString(16).padStart(4, '0')}`.slice(-12);
    return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${tail}`;
  }

  /** Builds an edge's heartbeat and stores it in the stream. */
  heartbeatOf(edge: string, calls: readonly EdgeCall[], epochs: Heartbeat['epochs']): Heartbeat {
    this.#heartbeats += 1;
    const heartbeat: Heartbeat = {
      edge,
      n: this.#heartbeats,
      chunk: 0,
      chunks: 1,
      epochs,
      last: false,
      calls: calls.map(({ id, hold, callEpoch }) => ({ id, hold, callEpoch, endpoint: '/v1/chat/completions' })),
      releases: this.unreleased.filter((call) => call.edge === edge).map(releaseOf),
    };
    this.kept.set(edge, { heartbeat, storedAtMs: this.now, sequence: heartbeat.n });
    return heartbeat;
  }

  /**
   * Makes the bucket usable again after a loss, which a read notices. A sweep would notice the loss
   * too, but would also process due entries if another replica has opened the bucket since.
   */
  async restore(): Promise<void> {
    await this.replicas[this.now % REPLICAS]?.held({ account: this.account }).catch(() => undefined);
    for (let turn = 0; this.replicas.some((replica) => replica.bucketsPending() > 0); turn += 1) {
      if (turn > TURNS_MAX) throw new Error('the bucket was not restored');
      await this.redis.send('ping');
    }
    this.model.state.epoch = this.reportedEpoch;
    for (const { heartbeat, storedAtMs } of this.kept.values()) {
      if (isGone({ storedAtMs }, this.now, EXPIRY_MS)) continue;
      this.model.heartbeat(heartbeat.edge, heartbeat.calls, true);
      for (const release of heartbeat.releases) this.model.release(0, release);
    }
  }

  /** Whether a stored heartbeat younger than the expiry names the call. */
  isNamed({ id, edge }: ModelHold): boolean {
    const kept = edge === null ? undefined : this.kept.get(edge);
    if (kept === undefined || kept.storedAtMs <= this.now - EXPIRY_MS) return false;
    return kept.heartbeat.calls.some((call) => call.id === id);
  }

  /** Runs the part of a sweep that concerns this bucket, and all of its queries. */
  async sweep(): Promise<void> {
    const [reply] = await this.limitStore.run([
      buildSweepCall(findBucketKeys(this.bucket), this.model.now, ASKED_AGAIN_MAX),
    ]);
    if (!reply || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
    this.#ledgerClient.take([readSweepReply(reply)]);
    await this.#ledgerClient.idle();
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
    await this.limitStore.flush();
  }

  #ports(replica: string): Ports {
    return {
      limitStore: this.limitStore,
      clock: this.clock,
      log: silentLog,
      replica,
      owners: {
        find: async (digests) => answer(this.directory.down, this.directory.find(digests)),
        loadAccount: async (_account, name) => {
          const key = name === null ? null : this.directory.key(name);
          const member = key && this.directory.member(key.member);
          return answer(this.directory.down, { account: this.directory.record, key, member });
        },
        loadBalances: async ({ names, ids, afterLoss }) => {
          const loaded = this.ledger.load(names, ids, afterLoss, this.now);
          if (loaded === null || this.ledger.down) throw new Error('billing does not answer');
          return { ledgerEpoch: testEpoch(1), ...loaded };
        },
        unchangedBalances: () => Promise.reject(new Error('not asked')),
        unchangedRecords: () => Promise.reject(new Error('not asked')),
      },
      edges: {
        listens: () => true,
        heartbeatMarks: async () => [],
        forget: async () => undefined,
        lastHeartbeats: async (edge) =>
          [...this.kept.values()].filter(({ heartbeat }) => edge === undefined || heartbeat.edge === edge),
        heartbeatReply: (_edge, heartbeatReply) => void this.heartbeatReplies.push(heartbeatReply),
        report: (epochs) => this.#report([...epochs]),
      },
      journal: {
        store: async (_shard, events) => {
          for (const { id, hold } of events) {
            this.expired.push(id);
            this.ledger.stream.push({ id, rank: 1, hold, settled: false, amountNanoUsd: 0, storedAt: this.now });
          }
        },
      },
      listeners: { keysUsed: () => true, callsRefused: () => true },
      catalog: { view: () => this.catalog },
      backPressure: { engaged: () => null },
      durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: 1_000, decideMs: 60_000 },
    };
  }

  /** Live edges answer at once with their running calls. */
  #report(epochs: Heartbeat['epochs']): void {
    this.reportedEpoch = epochs[0]?.epoch ?? null;
    for (const edge of EDGES) {
      if (this.deadEdges.has(edge)) continue;
      this.heartbeatOf(
        edge,
        this.running.filter((call) => call.edge === edge),
        epochs,
      );
    }
  }
}

const TURNS_MAX = 100_000;

export function releaseOf({ id, hold, callEpoch, outcome, amountNanoUsd }: EndedCall) {
  return { blind: false as const, id, hold, callEpoch, outcome, amountNanoUsd };
}

function answer<T>(down: boolean, value: T): T {
  if (down) throw new Error('no responders');
  return value;
}

/** Returns the first account with this name prefix in the bucket. */
function accountIn(bucket: number, name: number): string {
  for (let attempt = 0; ; attempt += 1) {
    const account = `m${name}-${attempt}`;
    if (bucketOfAccount(account) === bucket) return account;
  }
}
