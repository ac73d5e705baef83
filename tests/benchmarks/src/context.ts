import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Context of every step of a run. */
export interface BenchContext {
  readonly ending: Cleanup;
  readonly log: (line: string) => void;
  /** Aborted when the run has to stop. */
  readonly signal: AbortSignal;
}

/** Collects steps that end started resources, and runs them in reverse order. */
export class Cleanup {
  readonly #steps: { what: string; end: () => Promise<unknown> | void }[] = [];

  add(what: string, end: () => Promise<unknown> | void): void {
    this.#steps.push({ what, end });
  }

  /** Runs every step even if one fails. */
  async run(onFault: (text: string) => void): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.end();
      } catch (error) {
        onFault(`${step.what} could not be ended in order: ${messageOf(error)}`);
      }
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const inCheckout = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** Directories of the checkout that the benchmark uses, valid from both `src` and `dist`. */
export const DIRECTORIES = {
  checkout: inCheckout(''),
  /** Compiled work trees of other commits. */
  commits: inCheckout('.cache/bench-commits'),
  /** Reports and samples of complete runs. */
  results: inCheckout('.results'),
  /** State and logs of one run, and results of quick runs. */
  work: inCheckout('.cache/bench'),
  /** Peers from npm and PyPI. */
  peers: inCheckout('.cache/bench-peers'),
  /** Debian programs, shared with the local servers. */
  debian: inCheckout('.infra'),
} as const;

/**
 * Creates a directory for this run, which is removed at its end, and removes those of killed runs.
 */
export function openRunDirectory(ending: Cleanup): string {
  mkdirSync(DIRECTORIES.work, { recursive: true });
  for (const name of readdirSync(DIRECTORIES.work)) {
    const pid = /^run-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(`${DIRECTORIES.work}/${name}`, { recursive: true });
  }
  const directory = `${DIRECTORIES.work}/run-${process.pid}`;
  mkdirSync(directory);
  ending.add('the state directory', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
