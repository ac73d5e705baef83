import type { LocalService } from '@gateway/local';
import { until } from '@gateway/testkit';
import { PATIENT } from '../../test/own-system.js';
import type { ClientCall } from '../evidence/evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { payer } from '../load/accounts.js';
import { planSteadyCall } from '../load/call-plan.js';
import type { Load } from '../load/loads.js';

/** A stream takes three to five seconds. */
const EVENT_MS = 250;
const GRACE_MS = 90_000;
const OPEN_WITHIN_MS = 120_000;
/** A worker pauses between two streams, so more workers than streams are needed. */
const WORKERS_PER_STREAM = 1.06;
/** Number of concurrent plain calls, in addition to the streams. */
const PLAIN_WORKERS = 6;
const ACCOUNTS = 2;
const TOPOLOGY = {
  replicas: { 'edge-proxy': 2, admission: 2, billing: 1 },
  env: PATIENT,
  // Longer than any stream of a run, so that a stopping edge cuts none.
  durations: { GATEWAY_DRAIN_MS: '60000' },
  isLinked: false,
} as const;

/** Starts a system whose processes can be replaced one after the other, as in a rolling upgrade. */
export function beginRollingRun(name: string): Promise<FaultRun> {
  return FaultRun.begin(name, 0, TOPOLOGY, (operator) =>
    Promise.all(Array.from({ length: ACCOUNTS }, () => payer(operator, { model: 'rated', workers: 0 }))),
  );
}

/** Streams that are always open, in addition to plain calls. No failures are planned. */
export class SteadyLoad {
  private constructor(
    private readonly run: FaultRun,
    private readonly streams: number,
    private readonly load: Load,
  ) {}

  /**
   * Resolves when every stream is open.
   *
   * @param eventMs pause before each of the 11 to 21 events of a stream
   */
  static async start(run: FaultRun, streams: number, eventMs = EVENT_MS): Promise<SteadyLoad> {
    const streamWorkers = Math.ceil(streams * WORKERS_PER_STREAM);
    const workers = Array.from(
      { length: Math.ceil((streamWorkers + PLAIN_WORKERS) / ACCOUNTS) },
      () => run.accounts,
    ).flat();
    const load = run.startLoad({
      workers,
      plan: (n, worker) => planSteadyCall(n, worker < streamWorkers ? eventMs : null),
    });
    const steady = new SteadyLoad(run, streams, load);
    await steady.#allOpen();
    return steady;
  }

  stop(): Promise<void> {
    return this.load.stop();
  }

  /**
   * Starts a new process next to the one at `index`. When it is ready, it gets all new calls. When
   * the calls of the old process have reached the provider, the old process gets its stop signal.
   * Resolves when the old process has ended. `open`: running calls of the whole system when the old
   * process got its stop signal; `carried`: those of the old process, if it is an edge.
   */
  async replace(service: LocalService, index: number) {
    const replacement = await this.run.system.local.replace(service, index);
    const carried = service === 'edge-proxy' ? await this.#sendElsewhere(index) : [];
    await this.#allOpen();
    const open = this.run.provider.running;
    await replacement.retire(GRACE_MS);
    return { open, carried, lastLines: replacement.old.lastLogLines() };
  }

  /**
   * Sends new calls to the new edge, as a load balancer does before an edge is stopped. Returns the
   * running calls of the old edge.
   */
  async #sendElsewhere(index: number): Promise<readonly number[]> {
    const { run, load } = this;
    const old = run.edges[index];
    const url = run.system.local.running().edgeUrls[index];
    if (old === undefined || url === undefined) throw new Error(`there is no edge at place ${index}`);
    // Each process has a different number.
    run.edges = run.edges.with(index, { number: old.number + run.edges.length, url });
    const carried = (): number[] => [...load.underWay].flatMap(([n, edge]) => (edge === old.number ? [n] : []));
    await until(
      'the calls of the old edge have reached the provider',
      () => {
        const reached = new Set(run.provider.calls.map(({ n }) => n));
        return carried().every((n) => reached.has(n));
      },
      OPEN_WITHIN_MS,
    );
    return carried();
  }

  #allOpen(): Promise<true> {
    return until('all streams are open', () => this.run.provider.running >= this.streams, OPEN_WITHIN_MS);
  }
}

export function isServed({ status, ending }: ClientCall): boolean {
  return status === 200 && ending === 'whole';
}
