import type { LocalService } from '@gateway/local';
import { until } from '@gateway/testkit';
import { type OwnSystem, PATIENT, startOwnSystem } from '../../test/own-system.js';
import type { ClientCall, Evidence } from '../evidence/evidence.js';
import { readEvidence } from '../evidence/read-evidence.js';
import { RUN_PRICES, type RunAccount, payer } from '../load/accounts.js';
import { type PlannedProvider, startPlannedProvider } from '../load/planned-provider.js';
import { type EdgeTarget, type SteadyLoad, startSteadyLoad } from '../load/loads.js';

/** One process that replaced another. */
export interface Replaced {
  readonly service: LocalService;
  /** Running calls of the whole system when the old process got its stop signal. */
  readonly open: number;
  /** Running calls of the old process at that time, if it is an edge. */
  readonly carried: readonly number[];
  /**
   * Time from the start of the new process until it was ready, and from the stop signal until the
   * old process had ended.
   */
  readonly readyMs: number;
  readonly endedMs: number;
  /** Last log lines of the old process. */
  readonly lastLines: string;
}

/** A stream takes three to five seconds. */
const PIECE_MS = 250;
/** Longer than any stream of a run, so that a stopping edge cuts none. */
const DRAIN_MS = 60_000;
const GRACE_MS = 90_000;
/** The default. This run does not shorten leases or expiries. */
const LEASE_MS = 30_000;
const OPEN_WITHIN_MS = 120_000;
/** A worker pauses between two streams, so more workers than streams are needed. */
const WORKERS_PER_STREAM = 1.06;
const CALLS_WITHIN_MS = 3_600_000;
const ACCOUNTS = 2;
const REPLICAS = { 'edge-proxy': 2, admission: 2, billing: 1, accounts: 1, catalog: 1, dashboard: 1 } as const;

/**
 * A system under a steady load. Its processes are replaced one after the other, as in a rolling
 * upgrade.
 */
export class RollingRun {
  readonly #replaced: Replaced[] = [];
  readonly #seen: ClientCall[] = [];
  #load?: SteadyLoad;
  #edges: readonly EdgeTarget[];
  #edgesMade: number;

  private constructor(
    readonly system: OwnSystem,
    /** Environment of every process that is started from now on. */
    readonly env: Record<string, string | undefined>,
    readonly provider: PlannedProvider,
    readonly accounts: readonly RunAccount[],
    private readonly modelId: string,
    private readonly streams: number,
    private readonly pieceMs: number,
  ) {
    this.#edges = system.local.running().edgeUrls.map((url, number) => ({ number, url }));
    this.#edgesMade = this.#edges.length;
  }

  /** @param pieceMs pause between two of the 12 to 20 chunks of a stream */
  static async begin(name: string, streams: number, pieceMs = PIECE_MS): Promise<RollingRun> {
    const provider = await startPlannedProvider();
    const env = { ...PATIENT, GATEWAY_DRAIN_MS: String(DRAIN_MS) };
    let system: OwnSystem | undefined;
    try {
      system = await startOwnSystem(name, env, REPLICAS);
      const { operator } = system;
      const endpoints = ['/v1/chat/completions', '/v1/messages'] as const;
      const { id } = await operator.model(RUN_PRICES.rated, [`${provider.url}/a`, `${provider.url}/b`], {
        endpoints: [...endpoints],
      });
      const workers = Math.ceil(streams / ACCOUNTS);
      const accounts = Array.from({ length: ACCOUNTS }, () => payer(operator, { model: 'rated', workers }));
      return new RollingRun(system, env, provider, await Promise.all(accounts), id, streams, pieceMs);
    } catch (error) {
      await system?.stop();
      await provider.close();
      throw error;
    }
  }

  get replaced(): readonly Replaced[] {
    return this.#replaced;
  }

  /** Ended calls of all loads, in order of completion. */
  get seen(): readonly ClientCall[] {
    return this.#seen;
  }

  /** Resolves when every stream is open. An earlier load must have ended. */
  async load(): Promise<SteadyLoad> {
    const { accounts, modelId, pieceMs } = this;
    const workers = Math.ceil(this.streams * WORKERS_PER_STREAM);
    const load = startSteadyLoad({
      accounts,
      modelId,
      streams: workers,
      pieceMs,
      seen: this.#seen,
      edges: () => this.#edges,
    });
    this.#load = load;
    await this.#allOpen();
    return load;
  }

  /**
   * Starts a new process next to the one at `index`. When it is ready, it gets all new calls. When
   * the calls of the old process have reached the provider, the old process gets its stop signal.
   * Resolves when the old process has ended.
   */
  async replace(service: LocalService, index: number, load: SteadyLoad): Promise<Replaced> {
    const startedAt = performance.now();
    const replacement = await this.system.local.replace(service, index);
    const readyMs = performance.now() - startedAt;
    const carried = service === 'edge-proxy' ? await this.#sendElsewhere(index, load) : [];
    await this.#allOpen();
    const open = this.provider.running;
    const stoppedAt = performance.now();
    await replacement.retire(GRACE_MS);
    const endedMs = performance.now() - stoppedAt;
    const lastLines = replacement.old.lastLogLines();
    const replaced = { service, open, carried, readyMs, endedMs, lastLines };
    this.#replaced.push(replaced);
    return replaced;
  }

  /** Resolves when `calls` calls have ended. */
  async ended(calls: number): Promise<void> {
    await until(`${calls} calls have ended`, () => this.#seen.length >= calls, CALLS_WITHIN_MS);
  }

  /** Collects all logs after the end of the load. */
  evidence(): Promise<Evidence> {
    const { system, provider, accounts } = this;
    const terms = accounts.map((account) => account.terms);
    return readEvidence({ system, provider, terms, calls: this.#seen, faults: [], leaseMs: LEASE_MS });
  }

  async end(): Promise<void> {
    await this.#load?.stop();
    await this.system.stop();
    await this.provider.close();
  }

  /**
   * Sends new calls to the new edge, as a load balancer does before an edge is stopped. Returns the
   * running calls of the old edge.
   */
  async #sendElsewhere(index: number, load: SteadyLoad): Promise<readonly number[]> {
    const old = this.#edges[index];
    const url = this.system.local.running().edgeUrls[index];
    if (old === undefined || url === undefined) throw new Error(`there is no edge at place ${index}`);
    const number = this.#edgesMade;
    this.#edgesMade += 1;
    this.#edges = this.#edges.with(index, { number, url });
    await until(
      'the calls of the old edge have reached the provider',
      () => {
        const reached = new Set(this.provider.calls.map(({ n }) => n));
        return load.underWay(old.number).every((n) => reached.has(n));
      },
      OPEN_WITHIN_MS,
    );
    return load.underWay(old.number);
  }

  #allOpen(): Promise<true> {
    return until('all streams are open', () => this.provider.running >= this.streams, OPEN_WITHIN_MS);
  }
}

/** Whether the client got a complete response with status 200. */
export function isServed({ status, ending }: ClientCall): boolean {
  return status === 200 && ending === 'whole';
}
