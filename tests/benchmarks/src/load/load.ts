import { sumOf } from '@gateway/testkit';
import { ChildProgram } from '../machine/programs.js';
import type { ProcessGroups } from '../machine/processes.js';

/** One run of the load: `connections` connections, each with one call after the other. */
export interface LoadJob {
  readonly port: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** Criteria of a complete response, without white space at its end. Others are failures. */
  readonly expected: { readonly bytesMin: number; readonly endsWith: string };
  /** Keys that calls use in turn. */
  readonly secrets: readonly string[];
  readonly connections: number;
  /** Calls begin at this rate. Null: each connection makes one call after the other. */
  readonly perSecond: number | null;
  /** No new call begins after these seconds or this many calls. Running calls are awaited. */
  readonly until: { readonly seconds: number } | { readonly calls: number };
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface LoadResult {
  /** Calls with a complete, expected response. All other figures only count these. */
  readonly calls: number;
  /** Failed calls by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** From the start of the first call to the end of the last. */
  readonly elapsedMs: number;
  readonly firstByteMs: Spread;
  readonly completeMs: Spread;
}

export function failuresTotal({ failures }: Pick<LoadResult, 'failures'>): number {
  return sumOf(Object.values(failures));
}

/** The load, in a separate process that is measured separately and can be pinned to a core. */
export class Load {
  readonly #child = new ChildProgram<LoadJob>(new URL('../child-main.js', import.meta.url), 'the load');
  /** Load and provider. Their CPU shows whether they were the bottleneck. */
  readonly processes: ProcessGroups;

  constructor(providerPid: number) {
    this.processes = { load: [this.#child.pid], provider: [providerPid] };
  }

  /** Runs one job at a time. Rejects if the load process has ended. */
  run(job: LoadJob): Promise<LoadResult> {
    return this.#child.ask(job);
  }

  stop(): Promise<void> {
    return this.#child.leave();
  }
}
