import { bucketOfAccount } from '@gateway/contracts/ids';
import type { HoldFields } from '@gateway/contracts/messages';
import { silentLog } from '@gateway/testkit';
import { Admission } from '../../src/admission.js';
import type { KeptBeat } from '../../src/domain/last-beats.js';
import { bucketKeys } from '../../src/domain/gate-keys.js';
import { readSweepReply, sweepCall } from '../../src/domain/sweep-script.js';
import { AdmissionFault } from '../../src/ports.js';
import type { Beat, Ports } from '../../src/ports.js';
import { LedgerDesk } from '../../src/sweep/ask-ledger.js';
import { Directory } from './directory.js';
import { FrozenClock, FrozenGate } from './frozen-gate.js';
import type { FrozenRedis } from './frozen-gate.js';
import { Ledger } from './ledger.js';
import { ModelGate } from './model-gate.js';
import { NO_PLAN, catalogFrom } from './scene.js';

/** A call as its edge knows it. */
export interface EdgeCall {
  readonly id: string;
  readonly hold: HoldFields;
  /** Gate token under which it is held, as far as the edge was told. */
  tag: string;
  readonly edge: string;
}

export interface EndedCall extends EdgeCall {
  readonly outcome: 'ok' | 'void';
  readonly amountNanoUsd: number;
}

export const EDGES = ['edge1', 'edge2'] as const;
const REPLICAS = 2;

/** One account with everything around it: two replicas on one bucket of Redis, and the model beside them. */
export class Stage {
  readonly clock: FrozenClock;
  readonly gate: FrozenGate;
  readonly replicas: readonly Admission[];
  readonly directory: Directory;
  readonly ledger: Ledger;
  readonly model: ModelGate;
  readonly catalog;
  readonly running: EdgeCall[] = [];
  readonly ended: EndedCall[] = [];
  /** Ends whose release was not delivered. */
  readonly unreleased: EndedCall[] = [];
  readonly kept = new Map<string, KeptBeat>();
  readonly deadEdges = new Set<string>();
  readonly verdicts: Parameters<Ports['edges']['heartbeatReply']>[1][] = [];
  readonly expired: string[] = [];
  reportedToken: string | null = null;
  readonly #desk: LedgerDesk;
  #beats = 0;
  #ids = 0;

  constructor(
    private readonly redis: FrozenRedis,
    public readonly bucket: number,
    private readonly name: number,
    public now: number,
  ) {
    const account = accountIn(bucket, name);
    this.clock = new FrozenClock(now);
    this.gate = new FrozenGate(redis, this.clock, bucket);
    this.directory = new Directory(account, name);
    this.ledger = new Ledger(account, NO_PLAN);
    this.catalog = catalogFrom(now);
    this.model = new ModelGate(this.catalog, this.directory, this.ledger, now);
    this.replicas = Array.from({ length: REPLICAS }, (_unused, index) => new Admission(this.#ports(`replica${index}`)));
    this.#desk = new LedgerDesk(this.#ports('sweeper'));
  }

  get account(): string {
    return this.directory.account;
  }

  moveTo(now: number): void {
    this.now = now;
    this.clock.set(now);
    this.model.now = now;
  }

  /** A UUIDv7 that the same sequence makes again. */
  newId(time: number): string {
    this.#ids += 1;
    const ms = time.toString(16).padStart(12, '0');
    const tail = `${this.name.toString(16).padStart(8, '0')}${this.#ids.toString(16).padStart(4, '0')}`.slice(-12);
    return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${tail}`;
  }

  /** What an edge says now; the stream keeps it. */
  beatOf(edge: string, calls: readonly EdgeCall[], tokens: Beat['tokens']): Beat {
    this.#beats += 1;
    const beat: Beat = {
      edge,
      n: this.#beats,
      chunk: 0,
      chunks: 1,
      tokens,
      last: false,
      calls: calls.map(({ id, hold, tag }) => ({ id, hold, tag, endpoint: '/v1/chat/completions' })),
      releases: this.unreleased.filter((call) => call.edge === edge).map(releaseOf),
    };
    this.kept.set(edge, { beat, storedAtMs: this.now });
    return beat;
  }

  /** Makes the bucket usable again after a loss, as the timer's sweep would. */
  async restore(): Promise<void> {
    await this.replicas[this.now % REPLICAS]?.sweep();
    for (let turn = 0; this.replicas.some((replica) => replica.bucketsPending() > 0); turn += 1) {
      if (turn > TURNS_MAX) throw new Error('the bucket was not restored');
      await this.redis.send('ping');
    }
    this.model.state.token = this.reportedToken;
    for (const { beat } of this.kept.values()) {
      this.model.beat(beat.edge, beat.calls, true);
      for (const release of beat.releases) this.model.release(0, release);
    }
  }

  /** What the sweep of all buckets does with this one, and all that it asks for. */
  async sweep(): Promise<void> {
    const [reply] = await this.gate.run([sweepCall(bucketKeys(this.bucket))]);
    if (!reply || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
    this.#desk.take([readSweepReply(reply)]);
    await this.#desk.idle();
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()));
    await this.gate.flush();
  }

  #ports(replica: string): Ports {
    return {
      gate: this.gate,
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
        loadStanding: async ({ names, ids, afterLoss }) => {
          const loaded = this.ledger.load(names, ids, afterLoss, this.now);
          if (loaded === null || this.ledger.down) throw new Error('billing does not answer');
          return { incarnation: 'ledger-1', ...loaded };
        },
      },
      edges: {
        lastBeats: async () => [...this.kept.values()],
        verdict: (_edge, verdict) => void this.verdicts.push(verdict),
        report: (tokens) => this.#report([...tokens]),
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
      brakes: { engaged: () => null },
      durations: { leaseMs: 30_000, expiryMs: 120_000, sweepMs: 1_000, decideMs: 60_000 },
    };
  }

  /** Live edges answer at once with what they run. */
  #report(tokens: Beat['tokens']): void {
    this.reportedToken = tokens[0]?.token ?? null;
    for (const edge of EDGES) {
      if (this.deadEdges.has(edge)) continue;
      this.beatOf(
        edge,
        this.running.filter((call) => call.edge === edge),
        tokens,
      );
    }
  }
}

const TURNS_MAX = 100_000;

export function releaseOf({ id, hold, tag, outcome, amountNanoUsd }: EndedCall) {
  return { blind: false as const, id, hold, tag, outcome, amountNanoUsd };
}

function answer<T>(down: boolean, value: T): T {
  if (down) throw new Error('no responders');
  return value;
}

/** The first account of a name that lies in the bucket. */
function accountIn(bucket: number, name: number): string {
  for (let attempt = 0; ; attempt += 1) {
    const account = `m${name}-${attempt}`;
    if (bucketOfAccount(account) === bucket) return account;
  }
}
