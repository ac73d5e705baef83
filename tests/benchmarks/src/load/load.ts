import { ChildProgram } from '../machine/programs.js';
import type { ProcessGroups } from '../machine/processes.js';
import { type Spread, sumOf } from '../statistics.js';

/** Criteria of a complete response. Any other response is a failure. */
export interface ExpectedResponse {
  readonly bytesMin: number;
  /** Trailing white space is ignored. */
  readonly endsWith: string;
}

/** The request body of a call, and its expected response. */
export interface LoadRequest {
  readonly body: string;
  readonly expected: ExpectedResponse;
}

/** One run of the load: `connections` connections, each with one call after the other. */
export interface LoadJob extends LoadRequest {
  readonly port: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Replaces this share of the calls, evenly spread. Absent: none. */
  readonly among?: LoadRequest & { readonly share: number };
  /** Name of the keys that calls use in turn. Null: all calls use the same made-up key. */
  readonly keysOf: string | null;
  readonly connections: number;
  /** Calls begin at this rate. Null: each connection makes one call after the other. */
  readonly perSecond: number | null;
  /** The first calls of the connections are spread over these milliseconds. 0: all at once. */
  readonly rampMs: number;
  /** No new call begins after these seconds or this many calls. Running calls are awaited. */
  readonly until: { readonly seconds: number } | { readonly calls: number };
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

export type LoadCommand =
  | { readonly kind: 'keys'; readonly of: string; readonly secrets: readonly string[]; readonly perMinuteMax: number }
  | { readonly kind: 'job'; readonly job: LoadJob };

/** The load, in a separate process that is measured separately and can be pinned to a core. */
export class Load {
  readonly #child = new ChildProgram<LoadCommand>(new URL('load-main.js', import.meta.url), 'the load');
  /** Load and provider. Their CPU shows whether they were the bottleneck. */
  readonly processes: ProcessGroups;

  constructor(providerPid: number) {
    this.processes = { load: [this.#child.pid], provider: [providerPid] };
  }

  /** Sets the keys for jobs whose `keysOf` is `of`. */
  async useKeys(of: string, secrets: readonly string[], perMinuteMax: number): Promise<void> {
    await this.#child.ask({ kind: 'keys', of, secrets, perMinuteMax });
  }

  /** Runs one job at a time. Rejects if the load process has ended. */
  run(job: LoadJob): Promise<LoadResult> {
    return this.#child.ask({ kind: 'job', job });
  }

  stop(): Promise<void> {
    return this.#child.kill();
  }
}
