import { ChildProgram } from '../machine/child-program.js';
import type { LoadJob, LoadResult } from './load-job.js';

export type LoadCommand =
  | { readonly kind: 'keys'; readonly of: string; readonly secrets: readonly string[]; readonly perMinuteMax: number }
  | { readonly kind: 'job'; readonly job: LoadJob };

/**
 * The load in a process of its own, so that its CPU is not the measuring's and can be put on a
 * core.
 */
export interface LoadProcess {
  readonly pid: number;
  /** Keys for jobs whose `keysOf` is `of`. */
  useKeys(of: string, secrets: readonly string[], perMinuteMax: number): Promise<void>;
  /** One job at a time. Rejects when the load has ended. */
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
