import { runFinalChecks } from '../check/final-checks.js';
import { checkOverAdmission } from '../check/over-admission.js';
import { checkGoneEdge, checkOwnHold } from '../check/run-kind-checks.js';
import { Truth, type Violation } from '../check/truth.js';
import { LimitStoreWatch } from '../check/watch-limit-store.js';
import { CompletionWatch } from '../check/watch-rest.js';
import { AccountsHost } from '../hosts/accounts-host.js';
import { Outbox } from '../hosts/outbox.js';
import type { World } from '../hosts/world.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import type { LuaRedis } from '../limit-store/lua-redis.js';
import { LimitStoreServer } from '../limit-store/server.js';
import { Network } from '../network/network.js';
import { Streams } from '../network/streams.js';
import type { Fault, Scenario } from '../scenario/scenario.js';
import { Host } from '../time/host.js';
import { installTime } from '../time/install-time.js';
import { Random, hash } from '../time/random.js';
import { VirtualTime } from '../time/virtual-time.js';
import { makeSubscription, perform } from './perform.js';
import { Places } from './places.js';

/** Interval between two writes of the server's file. */
const FILE_MS = 3_000;
const SWEEP_MS = 1_500;
/** Longer, because most sweeps of a quiet run find nothing. */
const QUIET_SWEEP_MS = 2_500;

export interface Outcome {
  readonly violations: readonly Violation[];
  /** Hash of everything that happened. Equal for equal runs. */
  readonly fingerprint: number;
  readonly calls: number;
  readonly counts: Truth['counts'] & { readonly limitStoreLosses: number };
  readonly virtualMs: number;
}

let isPlaying = false;

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

class Play {
  readonly #world: World;
  readonly #watch = new LimitStoreWatch(() => this.#world);
  readonly #places: Places;
  readonly #completion: CompletionWatch;

  constructor(scenario: Scenario, redis: LuaRedis, time: VirtualTime) {
    const world = (): World => this.#world;
    const random = new Random(scenario.seed ^ 0x77aa);
    const { seed, faults, accounts } = scenario;
    const names = accounts.map(({ name }) => name);
    this.#world = {
      scenario,
      time,
      random,
      network: new Network({ time, seed, faults, kill: (host, ms) => this.#places.kill(host, ms) }),
      sweepMs: SWEEP_MS,
      ledger: new MemoryLedger(),
      streams: new Streams(time, new Host('nats')),
      server: new LimitStoreServer(time, redis, names, (call, reply) => this.#watch.ran(call, reply)),
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
      outbox: new Outbox(world),
      admissions: [null, null],
      billings: [null, null],
      edges: [null, null],
    };
    this.#places = new Places(this.#world);
    this.#completion = new CompletionWatch(this.#world, () => this.#places.hosts());
    this.#begin(scenario);
  }

  async run(): Promise<Outcome> {
    const { time, truth, server, network } = this.#world;
    let fingerprint = 0;
    const after = (): void => {
      this.#watch.look();
      fingerprint = hash(fingerprint, time.now + network.sent);
    };
    try {
      await time.run(() => truth.violations.length > 0 || this.#completion.isOver(), after);
      if (truth.violations.length === 0) await runFinalChecks(this.#world);
    } catch (error) {
      truth.unforeseen('the run failed', error);
    }
    return {
      violations: truth.violations,
      fingerprint,
      calls: truth.calls.length,
      counts: { ...truth.counts, limitStoreLosses: server.losses },
      virtualMs: time.now - time.startedAt,
    };
  }

  #begin({ accounts, plans, acts, faults, quietAt }: Scenario): void {
    const world = this.#world;
    const { time, ledger, network } = world;
    for (const { name, walletNanoUsd, plan, capNanoUsd } of accounts) {
      world.accounts.add(name, [capNanoUsd, null]);
      ledger.addEntry(name, BigInt(walletNanoUsd), `opening-${name}`);
      world.truth.addEntry(name, walletNanoUsd);
      ledger.setSubscription(name, makeSubscription(time.startedAt, plan, plans));
    }
    this.#places.startAll();
    for (const act of acts) time.in(null, act.at, () => perform(world, act));
    for (const fault of faults) if ('at' in fault) time.in(null, fault.at, () => this.#cause(fault));
    time.every(null, FILE_MS, () => world.server.keepCopy());
    time.in(null, quietAt, () => {
      this.#completion.beQuiet();
      network.isQuiet = true;
      world.sweepMs = QUIET_SWEEP_MS;
    });
  }

  /** Causes a fault that happens at a time. Other faults belong to messages, steps or commits. */
  #cause(fault: Extract<Fault, { readonly at: number }>): void {
    const { server, ledger, truth, network, edges } = this.#world;
    if (network.isQuiet) return;
    switch (fault.kind) {
      case 'limit-store':
        if (server.isUp) server.lose(fault);
        return;
      case 'failover':
        if (server.isUp) server.failOver(fault);
        return;
      case 'promotion':
        truth.counts.lostCommits += ledger.promote(fault.commits);
        return;
      case 'away':
        return this.#places.takeAdmissionsAway(fault.ms);
      case 'edge-killed': {
        const edge = edges.find((one) => one?.host.name === fault.host);
        if (edge) this.#places.kill(edge.host, fault.ms);
        return;
      }
      case 'cut':
      case 'hang':
        return this.#places.disturb(fault.kind, fault.host, fault.ms);
    }
  }
}
