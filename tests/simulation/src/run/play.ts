import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { Violation } from '../check/call-truth.js';
import { runFinalChecks, checkOwnHold, checkGoneEdge } from '../check/final-checks.js';
import { checkOverAdmission } from '../check/over-admission.js';
import { Truth } from '../check/truth.js';
import { LimitStoreWatch } from '../check/watch-limit-store.js';
import { CompletionWatch } from '../check/watch-rest.js';
import { AccountsHost } from '../hosts/accounts-host.js';
import { Outbox } from '../hosts/outbox.js';
import type { World } from '../hosts/world.js';
import { StandbyCopies } from '../ledger/lose-commits.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import type { LuaRedis } from '../limit-store/lua-redis.js';
import { LimitStoreServer } from '../limit-store/server.js';
import { Network } from '../network/network.js';
import { type HeartbeatTraffic, Streams } from '../network/streams.js';
import { RUN_CATALOG } from '../scenario/run-catalog.js';
import type { Fault, Scenario } from '../scenario/scenario.js';
import { Host } from '../time/host.js';
import { installTime } from '../time/install-time.js';
import { Random, hash } from '../time/random.js';
import { VirtualTime } from '../time/virtual-time.js';
import { perform, subscriptionOf } from './perform.js';
import { PLACES, Places } from './places.js';

/** Interval between two writes of the server's file. */
const FILE_MS = 3_000;
const SWEEP_MS = 1_500;
/** Longer, because most sweeps of a quiet run find nothing. */
const QUIET_SWEEP_MS = 2_500;

export interface Outcome {
  readonly violations: readonly Violation[];
  /** Hash of everything that happened. Equal for equal runs. */
  readonly fingerprint: number;
  readonly messages: number;
  readonly calls: number;
  readonly counts: Truth['counts'] & { readonly limitStoreLosses: number };
  readonly virtualMs: number;
  /** Bus traffic of heartbeats and recoveries. */
  readonly traffic: HeartbeatTraffic;
}

/** Plays a scenario to its end and reports the rules that were broken. */
export async function play(scenario: Scenario, redis: LuaRedis): Promise<Outcome> {
  if (isPlaying) throw new Error('another run is playing in this thread');
  isPlaying = true;
  const lateness = new Random(scenario.seed ^ 0x51ed);
  const time = new VirtualTime(scenario.startMs, () => lateness.next());
  const chance = new Random(scenario.seed ^ 0x2c1b);
  const restore = installTime(time, () => chance.next());
  try {
    return await new Play(scenario, redis, time).run();
  } finally {
    restore();
    isPlaying = false;
  }
}

let isPlaying = false;

class Play {
  readonly #scenario: Scenario;
  readonly #time: VirtualTime;
  readonly #world: World;
  readonly #watch: LimitStoreWatch;
  readonly #places: Places;
  readonly #rest: CompletionWatch;
  #fingerprint = 0;

  constructor(scenario: Scenario, redis: LuaRedis, time: VirtualTime) {
    this.#scenario = scenario;
    this.#time = time;
    const world = (): World => this.#world;
    this.#watch = new LimitStoreWatch(world);
    const random = new Random(scenario.seed ^ 0x77aa);
    const { seed, faults, hosts } = scenario;
    const network = new Network({ time, seed, faults, kill: (host, ms) => this.#places.kill(host, ms) });
    const buckets = new Set(scenario.accounts.map(({ name }) => findBucketKeys(bucketOfAccount(name)).epoch));
    const [ledger, outbox] = [new MemoryLedger(), new Outbox(world)];
    this.#world = {
      scenario,
      time,
      random,
      network,
      catalog: RUN_CATALOG,
      sweepMs: SWEEP_MS,
      ledger,
      standby: new StandbyCopies(ledger, outbox),
      streams: new Streams(time, new Host('nats')),
      server: new LimitStoreServer(time, redis, buckets, (run) => this.#watch.ran(run)),
      truth: new Truth(
        faults,
        () => time.now - time.startedAt,
        (call) => checkOverAdmission(world(), call),
        (call, refusal) => {
          checkOwnHold(world(), call, refusal);
          checkGoneEdge(world(), call, refusal);
        },
      ),
      accounts: new AccountsHost(world),
      outbox,
      admissions: Array.from({ length: hosts?.admissions ?? PLACES }, () => null),
      billings: Array.from({ length: PLACES }, () => null),
      edges: Array.from({ length: hosts?.edges ?? PLACES }, () => null),
    };
    this.#places = new Places(this.#world);
    this.#rest = new CompletionWatch(this.#world, () => this.#places.hosts());
    this.#begin();
  }

  async run(): Promise<Outcome> {
    const { time: clock, truth, server, network, streams } = this.#world;
    const after = (): void => {
      this.#watch.look();
      this.#fingerprint = hash(this.#fingerprint, clock.now + network.sent);
    };
    try {
      await clock.run(() => truth.violations.length > 0 || this.#rest.isOver(), after);
      if (truth.violations.length === 0) await runFinalChecks(this.#world);
    } catch (error) {
      truth.unforeseen('the run failed', error);
    }
    return {
      violations: truth.violations,
      fingerprint: this.#fingerprint,
      messages: network.sent,
      calls: truth.calls.length,
      counts: { ...truth.counts, limitStoreLosses: server.losses },
      virtualMs: clock.now - clock.startedAt,
      traffic: streams.traffic,
    };
  }

  #begin(): void {
    const { accounts, plans, acts, faults, quietAt } = this.#scenario;
    const world = this.#world;
    const time = this.#time;
    for (const { name, walletNanoUsd, plan, capNanoUsd } of accounts) {
      world.accounts.add(name, [capNanoUsd, null]);
      world.ledger.addEntry(name, BigInt(walletNanoUsd), `opening-${name}`);
      world.truth.addEntry(name, walletNanoUsd);
      const seed = plan === null ? undefined : plans[plan];
      world.ledger.setSubscription(name, seed === undefined ? null : subscriptionOf(time.startedAt, plan, seed));
    }
    this.#places.startAll();
    for (const act of acts) time.in(null, act.at, () => perform(world, act));
    for (const fault of faults) this.#plan(fault);
    time.every(null, FILE_MS, () => world.server.keepCopy());
    time.in(null, quietAt, () => this.#beQuiet());
  }

  #plan(fault: Fault): void {
    const { server, standby, truth } = this.#world;
    if (fault.kind === 'limit-store') {
      this.#time.in(null, fault.at, () => {
        if (!this.#rest.isQuiet && server.isUp) server.lose(fault.how, fault.ms);
      });
    }
    if (fault.kind === 'promotion') {
      this.#time.in(null, fault.at, () => {
        if (!this.#rest.isQuiet) truth.counts.lostCommits += standby.promote(fault.commits);
      });
    }
    if (fault.kind === 'away') {
      this.#time.in(null, fault.at, () => {
        if (!this.#rest.isQuiet) this.#places.takeAdmissionsAway(fault.ms);
      });
    }
    if (fault.kind === 'edge-killed') {
      this.#time.in(null, fault.at, () => {
        const edge = this.#world.edges.find((one) => one?.host.name === fault.host);
        if (edge) this.#places.kill(edge.host, fault.ms);
      });
    }
    if (fault.kind === 'failover') {
      this.#time.in(null, fault.at, () => {
        if (!this.#rest.isQuiet && server.isUp) server.failOver(fault);
      });
    }
    if (fault.kind === 'cut' || fault.kind === 'hang') {
      this.#time.in(null, fault.at, () => {
        if (!this.#rest.isQuiet) this.#places.disturb(fault.kind, fault.host, fault.ms);
      });
    }
  }

  #beQuiet(): void {
    this.#rest.beQuiet();
    this.#world.network.isQuiet = true;
    this.#world.sweepMs = QUIET_SWEEP_MS;
  }
}
