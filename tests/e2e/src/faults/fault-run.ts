import type { LocalService } from '@gateway/local';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { get } from '../../test/call.js';
import type { TestOperator } from '../../test/operator.js';
import { type OwnSystem, startOwnSystem } from '../../test/own-system.js';
import type { ClientCall, Evidence, FaultDone, ModelOfRun } from '../evidence/evidence.js';
import { readEvidence } from '../evidence/read-evidence.js';
import { RUN_PRICES, type RunAccount, arrangeAccounts } from '../load/accounts.js';
import { type Mix, planCall } from '../load/call-plan.js';
import { type EdgeTarget, type Load, type LoadOptions, startLoad } from '../load/loads.js';
import { type PlannedProvider, startPlannedProvider } from '../load/planned-provider.js';
import { countEach } from '../runner/render-report.js';
import { allReady, applyFault } from './apply-fault.js';
import type { PlannedFault } from './fault-plan.js';
import { Links } from './tcp-proxy.js';

/**
 * Lease and expiry are longer than every silence that a fault causes, also on a busy machine. So a
 * call loses its slot or hold only with its edge. A call that settles after its expiry may exceed a
 * limit by design.
 */
const DURATIONS = {
  GATEWAY_LEASE_MS: '8000',
  GATEWAY_EXPIRY_MS: '30000',
  // An edge that stops while NATS is down waits for NATS for at most this drain time plus its
  // minimum stop time.
  GATEWAY_DRAIN_MS: '2000',
  GATEWAY_HEARTBEAT_MS: '400',
  GATEWAY_SWEEP_MS: '300',
};
/** For servers with standbys: longer than an election among them. */
const STANDBY_DURATIONS = { ...DURATIONS, GATEWAY_LEASE_MS: '20000', GATEWAY_EXPIRY_MS: '45000' };
const DEFAULT_LEASE_MS = '30000';
const REPLICAS = { 'edge-proxy': 2, admission: 2, billing: 2 } as const;
const ENDPOINTS = ['/v1/chat/completions', '/v1/messages'] as const;
const SOURCES = ['a', 'b'] as const;
/** A fault is over when each edge has completed this number of calls that began after it. */
const SERVED_CALLS = 3;
const SERVED_WITHIN_MS = 180_000;
/** Longer than a client waits for its response. */
const SILENT_MS_MAX = 120_000;
const LAST_CALLS = 100;
/** So that no request times out while clients and services compile. */
const FIRST_CALLS_MAX = 4;
/**
 * Calls and faults have different random sequences, so that the number of calls does not change the
 * faults.
 */
const CALLS_SEED = 0x5eed;

/** The system under test. Values that are absent are those of `startOwnSystem`. */
interface Topology {
  readonly replicas?: Partial<Record<LocalService, number>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Variables with durations. Default: short ones. */
  readonly durations?: Readonly<Record<string, string>>;
  readonly ha?: boolean;
  /** False: services connect to their servers directly, for speed. Default: through proxies. */
  readonly isLinked?: boolean;
  /** Also puts proxies between the servers of a kind, and before Redis. */
  readonly isDivisible?: boolean;
}

/** A system with a proxy on each link, a scripted provider, accounts, and one load at a time. */
export class FaultRun {
  /** Ended calls of all loads, in order of completion. */
  readonly seen: ClientCall[] = [];
  readonly faults: FaultDone[] = [];
  /** The edges that receive calls, in turn. */
  edges: readonly EdgeTarget[];
  #load: Load | null = null;

  private constructor(
    readonly system: OwnSystem,
    /** Environment of every process that is started from now on. */
    readonly env: Record<string, string | undefined>,
    /** Links from services to servers and sources. */
    readonly links: Links,
    /** Links between servers of one kind with standbys. */
    readonly peerLinks: Links,
    readonly provider: PlannedProvider,
    readonly accounts: readonly RunAccount[],
    readonly modelIds: ModelIds,
    private readonly stop: () => Promise<void>,
  ) {
    this.edges = system.local.running().edgeUrls.map((url, number) => ({ number, url }));
  }

  /** @param calls number of calls; the limits are sized so that the run reaches them */
  static async begin(
    name: string,
    calls: number,
    topology: Topology = {},
    arrange = (operator: TestOperator): Promise<RunAccount[]> => arrangeAccounts(operator, calls),
  ): Promise<FaultRun> {
    const { ha = false, isLinked = true, isDivisible = false, replicas = REPLICAS } = topology;
    const env = { ...(topology.durations ?? (ha ? STANDBY_DURATIONS : DURATIONS)), ...topology.env };
    const links = new Links();
    const peerLinks = new Links();
    const provider = await startPlannedProvider();
    const system = await startOwnSystem(name, env, replicas, {
      ...(isLinked ? { through: (own) => links.between(own) } : {}),
      ha,
      ...(isDivisible ? { between: (way, port) => peerLinks.addPort(way, port) } : {}),
    });
    const stop = async (): Promise<void> => {
      await system.stop();
      await links.close();
      await peerLinks.close();
      await provider.close();
    };
    try {
      const modelIds = await arrangeModels(system, links, provider);
      const accounts = await arrange(system.operator);
      await untilServed(system, accounts);
      return new FaultRun(system, env, links, peerLinks, provider, accounts, modelIds, stop);
    } catch (error) {
      await stop();
      throw error;
    }
  }

  /** Makes random calls with the workers of all accounts, until `evidence` or `end` stops them. */
  load(mix: Mix, seed: number, callsPerSecond?: number): Load {
    const random = new SeededRandom(seed ^ CALLS_SEED);
    const workers = this.accounts.flatMap((account) => Array<RunAccount>(account.workers).fill(account));
    const rate = callsPerSecond === undefined ? {} : { callsPerSecond };
    return this.startLoad({ workers, plan: (n) => planCall(n, random, mix), firstCallsMax: FIRST_CALLS_MAX, ...rate });
  }

  startLoad(options: Omit<LoadOptions, 'modelIds' | 'seen' | 'edges'>): Load {
    const { modelIds, seen } = this;
    return (this.#load = startLoad({ ...options, modelIds, seen, edges: () => this.edges }));
  }

  /** Resolves when this number of calls have ended. Rejects if no call ends for two minutes. */
  async ended(calls: number): Promise<void> {
    for (let { length } = this.seen; length < calls; { length } = this.seen)
      await until(`call ${length + 1} of ${calls} has ended`, () => this.seen.length > length, SILENT_MS_MAX);
  }

  causeFault(fault: PlannedFault): Promise<FaultDone> {
    return this.causeAs(fault, () => applyFault(fault, this.system.local, this.links));
  }

  /**
   * Runs `cause` instead of a planned fault. The checker treats it as `fault`. Resolves when each
   * edge serves.
   */
  async causeAs(
    { what, target }: Pick<FaultDone, 'what' | 'target'>,
    cause: () => Promise<unknown>,
  ): Promise<FaultDone> {
    const from = Date.now();
    await cause();
    const endedAt = Date.now();
    await until(
      `every edge serves after: ${what} ${target}`,
      () => this.edges.every(({ number }) => served(this.seen, number, endedAt)),
      SERVED_WITHIN_MS,
    ).catch((error: Error) => {
      throw new Error(`${error.message}; ${this.#load?.underWay.size} calls are open, the last: ${lastOf(this.seen)}`);
    });
    const done = { what, target, from, until: Date.now() };
    this.faults.push(done);
    return done;
  }

  /** Stops the load, and collects all logs when its last calls have ended. */
  async evidence(): Promise<Evidence> {
    await this.#load?.stop();
    const { system, provider, accounts, env, seen: calls, faults } = this;
    await allReady(system.local);
    const terms = accounts.map((account) => account.terms);
    const leaseMs = Number(env['GATEWAY_LEASE_MS'] ?? DEFAULT_LEASE_MS);
    return readEvidence(system, provider, { terms, calls, faults, leaseMs });
  }

  async end(): Promise<void> {
    try {
      await this.#load?.stop();
    } finally {
      await this.stop();
    }
  }
}

/** Waits until every edge serves every account, because the first call of an account loads it. */
async function untilServed({ local }: OwnSystem, accounts: readonly RunAccount[]): Promise<void> {
  const { edgeUrls } = local.running();
  const isServed = async (url: string, secret: string): Promise<boolean> =>
    (await get(`${url}/v1/gateway/usage`, secret)).status === 200;
  const served = edgeUrls.flatMap((url) =>
    accounts.map(({ secret }) => until('the edge serves the account', () => isServed(url, secret), SERVED_WITHIN_MS)),
  );
  await Promise.all(served);
}

type ModelIds = Readonly<Record<ModelOfRun, string>>;

async function arrangeModels({ operator }: OwnSystem, links: Links, provider: PlannedProvider): Promise<ModelIds> {
  const urls = await Promise.all(SOURCES.map((source) => links.add(`edge-proxy to source ${source}`, provider.url)));
  const baseUrls = urls.map((url, index) => `${url}/${SOURCES[index]}`);
  const model = async (of: ModelOfRun): Promise<string> => {
    const source = { endpoints: [...ENDPOINTS], cancelStopsBilling: of === 'cancelled' };
    return (await operator.model(RUN_PRICES[of], baseUrls, source)).id;
  };
  return { rated: await model('rated'), cent: await model('cent'), cancelled: await model('cancelled') };
}

function lastOf(seen: readonly ClientCall[]): string {
  const answers = seen
    .slice(-LAST_CALLS)
    .map((call) => `edge ${call.edge + 1} ${call.ending} ${call.status} ${call.code}`);
  return [...countEach(answers)].map(([answer, count]) => `${count} ${answer}`).join(', ');
}

function served(seen: readonly ClientCall[], edge: number, since: number): boolean {
  let count = 0;
  for (let at = seen.length - 1; at >= 0 && count < SERVED_CALLS; at -= 1) {
    const call = seen[at];
    if (call === undefined || call.endedAt < since) break;
    if (call.edge === edge && call.ending === 'whole' && call.begunAt >= since) count += 1;
  }
  return count >= SERVED_CALLS;
}
