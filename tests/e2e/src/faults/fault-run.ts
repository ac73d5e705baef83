import { until } from '@gateway/testkit';
import { get } from '../../test/call.js';
import type { TestOperator } from '../../test/operator.js';
import { type OwnSystem, startOwnSystem } from '../../test/own-system.js';
import { RUN_PRICES, type RunAccount, arrangeAccounts } from '../load/accounts.js';
import type { Mix } from '../load/call-plan.js';
import { type FaultLoad, startFaultLoad } from '../load/loads.js';
import { type PlannedProvider, startPlannedProvider } from '../load/planned-provider.js';
import type { Evidence, FaultDone, ModelOfRun } from '../evidence/evidence.js';
import type { Topology } from '../runner/scenario.js';
import type { PlannedFault, Targets } from './fault-plan.js';
import { allReady, applyFault, targetsOf } from './apply-fault.js';
import { Links } from './tcp-proxy.js';
import { readEvidence } from '../evidence/read-evidence.js';

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
const LAST_CALLS = 100;

/** A system with a proxy on each link, a scripted provider, and accounts for the load. */
export class FaultRun {
  readonly #faults: FaultDone[] = [];

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
    readonly end: () => Promise<void>,
  ) {}

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
    const end = async (): Promise<void> => {
      await system.stop();
      await links.close();
      await peerLinks.close();
      await provider.close();
    };
    try {
      const modelIds = await arrangeModels(system, links, provider);
      const accounts = await arrange(system.operator);
      await untilServed(system, accounts);
      return new FaultRun(system, env, links, peerLinks, provider, accounts, modelIds, end);
    } catch (error) {
      await end();
      throw error;
    }
  }

  get targets(): Targets {
    return targetsOf(this.system.local, this.links);
  }

  /** Makes as many calls as the workers of all accounts can, or as the rate allows. */
  load(mix: Mix, next: () => number, callsPerSecond?: number): FaultLoad {
    const { accounts, modelIds } = this;
    const { edgeUrls } = this.system.local.running();
    const rate = callsPerSecond === undefined ? {} : { callsPerSecond };
    return startFaultLoad({ accounts, edgeUrls, modelIds, mix, next, ...rate });
  }

  causeFault(fault: PlannedFault, load: FaultLoad): Promise<FaultDone> {
    return this.causeAs(fault, () => applyFault(fault, this.system.local, this.links), load);
  }

  /** Runs `cause` instead of a planned fault. The checker treats it as `fault`. */
  async causeAs(
    fault: Pick<FaultDone, 'what' | 'target'>,
    cause: () => Promise<unknown>,
    load: FaultLoad,
  ): Promise<FaultDone> {
    const from = Date.now();
    await cause();
    const endedAt = Date.now();
    const edges = this.system.local.running().edgeUrls.map((_, edge) => edge);
    await until(
      `every edge serves after: ${fault.what} ${fault.target}`,
      () => edges.every((edge) => served(load, edge, endedAt)),
      SERVED_WITHIN_MS,
    ).catch((error: Error) => {
      throw new Error(
        `${error.message}; ${load.begun - load.seen.length} calls are open, the last results: ${lastOf(load)}`,
      );
    });
    const done = { what: fault.what, target: fault.target, from, until: Date.now() };
    this.#faults.push(done);
    return done;
  }

  /**
   * Collects all logs after the end of the load.
   *
   * @param faults in addition to those that this run caused
   */
  async evidence({ seen: calls }: Pick<FaultLoad, 'seen'>, faults: readonly FaultDone[] = []): Promise<Evidence> {
    const { system, provider, accounts, env } = this;
    await allReady(system.local);
    const terms = accounts.map((account) => account.terms);
    const leaseMs = Number(env['GATEWAY_LEASE_MS'] ?? DEFAULT_LEASE_MS);
    return readEvidence({ system, provider, terms, calls, faults: [...this.#faults, ...faults], leaseMs });
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

function lastOf({ seen }: FaultLoad): string {
  const counts = new Map<string, number>();
  for (const { edge, ending, status, code } of seen.slice(-LAST_CALLS)) {
    const answer = `edge ${edge + 1} ${ending} ${status ?? ''} ${code ?? ''}`.trim();
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  return [...counts].map(([answer, count]) => `${count} ${answer}`).join(', ');
}

function served({ seen }: FaultLoad, edge: number, since: number): boolean {
  let count = 0;
  for (let at = seen.length - 1; at >= 0 && count < SERVED_CALLS; at -= 1) {
    const call = seen[at];
    if (call === undefined || call.endedAt < since) break;
    if (call.edge === edge && call.ending === 'whole' && call.begunAt >= since) count += 1;
  }
  return count >= SERVED_CALLS;
}
