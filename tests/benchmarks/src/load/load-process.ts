import { ChildProgram } from '../machine/child-program.js';
import type { LoadJob, LoadResult } from './load-job.js';

export type LoadCommand =
  | { readonly kind: 'keys'; readonly of: string; readonly secrets: readonly string[]; readonly perMinuteMax: number }
  | { readonly kind: 'job'; readonly job: LoadJob };

/** The load, in a separate process that is measured separately and can be pinned to a core. */
export interface LoadProcess {
  readonly pid: number;
  /** Sets the keys for jobs whose `keysOf` is `of`. */
  useKeys(of: string, secrets: readonly string[], perMinuteMax: number): Promise<void>;
  /** Runs one job at a time. Rejects if the load process has ended. */
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

export function startLoad(): LoadProcess {
  const child = new ChildProgram<LoadCommand>(new URL('load-main.js', import.meta.url), 'the load');
  return {
    pid: child.pid,
    useKeys: (of, secrets, perMinuteMax) => child.ask({ kind: 'keys', of, secrets, perMinuteMax }),
    run: (job) => child.ask({ kind: 'job', job }),
    stop: () => child.kill(),
  };
}
