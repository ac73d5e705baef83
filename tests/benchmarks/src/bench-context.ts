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
  readonly #steps: { what: string; end: () => Promise<void> | void }[] = [];

  add(what: string, end: () => Promise<void> | void): void {
    this.#steps.push({ what, end });
  }

  /** Runs every step even if one fails. */
  async run(onFault: (text: string) => void): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.end();
      } catch (error) {
        onFault(`${step.what} could not be ended in order: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}

/** Directories of the checkout that the benchmark uses, valid from both `src` and `dist`. */
export const DIRECTORIES = {
  /** The checkout itself. */
  checkout: fileURLToPath(new URL('../../..', import.meta.url)),
  /** Compiled work trees of other commits. Ignored by git. */
  commits: fileURLToPath(new URL('../../../.cache/bench-commits', import.meta.url)),
  /** Reports and samples of complete runs. Ignored by git. */
  results: fileURLToPath(new URL('../../../.results', import.meta.url)),
  /** State and logs of one run, and results of quick runs. Ignored by git. */
  work: fileURLToPath(new URL('../../../.cache/bench', import.meta.url)),
  /** Peers from npm and PyPI. Ignored by git. */
  peers: fileURLToPath(new URL('../../../.cache/bench-peers', import.meta.url)),
  /** Debian programs, shared with the local servers. Ignored by git. */
  debian: fileURLToPath(new URL('../../../.infra', import.meta.url)),
} as const;
