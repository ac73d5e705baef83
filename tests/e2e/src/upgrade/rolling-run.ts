import type { LocalService } from '@gateway/local';
import { until } from '@gateway/testkit';
import type { TestOperator } from '../../test/operator.js';
import { type OwnSystem, PATIENT } from '../../test/own-system.js';
import type { ClientCall, Evidence, FaultDone } from '../evidence/evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { type RunAccount, payer } from '../load/accounts.js';
import { type EdgeTarget, type SteadyLoad, startSteadyLoad } from '../load/loads.js';
import type { Topology } from '../runner/scenario.js';

export interface Replaced {
  readonly service: LocalService;
  /** Running calls of the whole system when the old process got its stop signal. */
  readonly open: number;
  /** Running calls of the old process at that time, if it is an edge. */
  readonly carried: readonly number[];
  readonly lastLines: string;
}

/** A stream takes three to five seconds. */
const PIECE_MS = 250;
const GRACE_MS = 90_000;
const OPEN_WITHIN_MS = 120_000;
/** A worker pauses between two streams, so more workers than streams are needed. */
const WORKERS_PER_STREAM = 1.06;
const CALLS_WITHIN_MS = 3_600_000;
const ACCOUNTS = 2;
const TOPOLOGY: Topology = {
  replicas: { 'edge-proxy': 2, admission: 2, billing: 1 },
  env: PATIENT,
  // Longer than any stream of a run, so that a stopping edge cuts none.
  durations: { GATEWAY_DRAIN_MS: '60000' },
  isLinked: false,
};

/**
 * A system under a steady load. Its processes are replaced one after the other, as in a rolling
 * upgrade.
 */
export class RollingRun {
  readonly system: OwnSystem;
  readonly #replaced: Replaced[] = [];
  readonly #seen: ClientCall[] = [];
  #load?: SteadyLoad;
  #edges: readonly EdgeTarget[];
  #edgesMade: number;

  private constructor(
    readonly run: FaultRun,
    private readonly streams: number,
    private readonly pieceMs: number,
  ) {
    this.system = run.system;
    this.#edges = this.system.local.running().edgeUrls.map((url, number) => ({ number, url }));
    this.#edgesMade = this.#edges.length;
  }

  /** @param pieceMs pause between two of the 12 to 20 chunks of a stream */
  static async begin(name: string, streams: number, pieceMs = PIECE_MS): Promise<RollingRun> {
    const arrange = (operator: TestOperator): Promise<RunAccount[]> => {
      const workers = Math.ceil(streams / ACCOUNTS);
      return Promise.all(Array.from({ length: ACCOUNTS }, () => payer(operator, { model: 'rated', workers })));
    };
    return new RollingRun(await FaultRun.begin(name, 0, TOPOLOGY, arrange), streams, pieceMs);
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
    const load = startSteadyLoad({
      accounts: this.run.accounts,
      modelId: this.run.modelIds.rated,
      streams: Math.ceil(this.streams * WORKERS_PER_STREAM),
      pieceMs: this.pieceMs,
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
    const replacement = await this.system.local.replace(service, index);
    const carried = service === 'edge-proxy' ? await this.#sendElsewhere(index, load) : [];
    await this.#allOpen();
    const open = this.run.provider.running;
    await replacement.retire(GRACE_MS);
    const lastLines = replacement.old.lastLogLines();
    const replaced = { service, open, carried, lastLines };
    this.#replaced.push(replaced);
    return replaced;
  }

  async ended(calls: number): Promise<void> {
    await until(`${calls} calls have ended`, () => this.#seen.length >= calls, CALLS_WITHIN_MS);
  }

  evidence(faults?: readonly FaultDone[]): Promise<Evidence> {
    return this.run.evidence(this, faults);
  }

  async end(): Promise<void> {
    await this.#load?.stop();
    await this.run.end();
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
        const reached = new Set(this.run.provider.calls.map(({ n }) => n));
        return load.underWay(old.number).every((n) => reached.has(n));
      },
      OPEN_WITHIN_MS,
    );
    return load.underWay(old.number);
  }

  #allOpen(): Promise<true> {
    return until('all streams are open', () => this.run.provider.running >= this.streams, OPEN_WITHIN_MS);
  }
}

export function isServed({ status, ending }: ClientCall): boolean {
  return status === 200 && ending === 'whole';
}
