import { until } from '@gateway/testkit';
import { get } from '../../test/call.js';
import { type OwnSystem, startOwnSystem } from '../../test/own-system.js';
import { RUN_PRICES, type RunAccount, arrangeAccounts } from '../load/accounts.js';
import type { Mix } from '../load/call-plan.js';
import { type FaultLoad, type RateLoad, startFaultLoad, startRateLoad } from '../load/loads.js';
import { type PlannedProvider, startPlannedProvider } from '../load/planned-provider.js';
import type { Evidence, FaultDone, ModelOfRun } from '../evidence/evidence.js';
import type { Topology } from '../runner/scenario.js';
import type { PlannedFault, Targets } from './fault-plan.js';
import { allReady, applyFault, targetsOf } from './apply-fault.js';
import { Links } from './tcp-proxy.js';
import { readEvidence } from '../evidence/read-evidence.js';

const LEASE_MS = 8_000;
/**
 * Lease and expiry are longer than every silence that a fault causes, also on a busy machine. So a
 * call loses its slot or hold only with its edge. A call that settles after its expiry may exceed a
 * limit by design.
 */
const DURATIONS = {
  GATEWAY_LEASE_MS: String(LEASE_MS),
  GATEWAY_EXPIRY_MS: '30000',
  // An edge that stops while NATS is down waits for NATS for at most this drain time plus its
  // minimum stop time.
  GATEWAY_DRAIN_MS: '2000',
  GATEWAY_HEARTBEAT_MS: '400',
  GATEWAY_SWEEP_MS: '300',
};
/** For servers with standbys: longer than an election among them. */
const STANDBY_LEASE_MS = 20_000;
const STANDBY_DURATIONS = { GATEWAY_LEASE_MS: String(STANDBY_LEASE_MS), GATEWAY_EXPIRY_MS: '45000' };
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
    /** Links from services to servers and sources. */
    readonly links: Links,
    /** Links between servers of one kind with standbys. */
    readonly peerLinks: Links,
    readonly provider: PlannedProvider,
    readonly accounts: readonly RunAccount[],
    private readonly modelIds: ModelIds,
    /** Stops the system, the proxies and the provider. */
    readonly end: () => Promise<void>,
    private readonly leaseMs: number,
  ) {}

  /** @param calls number of calls; the limits are sized so that the run reaches them */
  static async begin(name: string, calls: number, topology: Topology = {}): Promise<FaultRun> {
    const { env = {}, ha = false, isLinked = true, isDivisible = false } = topology;
    const links = new Links();
    const peerLinks = new Links();
    const provider = await startPlannedProvider();
    const system = await startOwnSystem(name, { ...DURATIONS, ...(ha ? STANDBY_DURATIONS : {}), ...env }, REPLICAS, {
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
      const accounts = await arrangeAccounts(system.operator, calls);
      await untilServed(system, accounts);
      return new FaultRun(
        system,
        links,
        peerLinks,
        provider,
        accounts,
        modelIds,
        end,
        ha ? STANDBY_LEASE_MS : LEASE_MS,
      );
    } catch (error) {
      await end();
      throw error;
    }
  }

  get targets(): Targets {
    return targetsOf(this.system.local, this.links);
  }

  get faults(): readonly FaultDone[] {
    return this.#faults;
  }

  /** Makes as many calls as the workers of all accounts can. */
  load(mix: Mix, next: () => number): FaultLoad {
    return startFaultLoad(this.#loadOptions(mix, next));
  }

  /** Makes calls at a constant rate, regardless of their results. */
  steadyLoad(mix: Mix, next: () => number, callsPerSecond: number): RateLoad {
    return startRateLoad({ ...this.#loadOptions(mix, next), callsPerSecond });
  }

  #loadOptions(mix: Mix, next: () => number) {
    const { edgeUrls } = this.system.local.running();
    return { accounts: this.accounts, edgeUrls, modelIds: this.modelIds, mix, next };
  }

  /** Causes one fault under load; resolves when every edge serves calls again. */
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

  /** Collects all logs after the end of the load. */
  async evidence(load: Pick<FaultLoad, 'seen'>): Promise<Evidence> {
    const { system, provider, accounts } = this;
    await allReady(system.local);
    const terms = accounts.map((account) => account.terms);
    return readEvidence({ system, provider, terms, calls: load.seen, faults: this.#faults, leaseMs: this.leaseMs });
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

/** Creates three models, each with two sources behind separate proxies. */
async function arrangeModels({ operator }: OwnSystem, links: Links, provider: PlannedProvider): Promise<ModelIds> {
  const urls = await Promise.all(SOURCES.map((source) => links.add(`edge-proxy to source ${source}`, provider.url)));
  const baseUrls = urls.map((url, index) => `${url}/${SOURCES[index]}`);
  const model = async (of: ModelOfRun): Promise<string> => {
    const source = { endpoints: [...ENDPOINTS], cancelStopsBilling: of === 'cancelled' };
    return (await operator.model(RUN_PRICES[of], baseUrls, source)).id;
  };
  return { rated: await model('rated'), cent: await model('cent'), cancelled: await model('cancelled') };
}

/** Counts how the last calls ended. */
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
