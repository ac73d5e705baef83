import { fileURLToPath } from 'node:url';

/** Directories of the checkout that the benchmark uses, valid from both `src` and `dist`. */
export const PLACES = {
  /** The checkout itself. */
  checkout: fileURLToPath(new URL('../../../..', import.meta.url)),
  /** Compiled work trees of other commits. Ignored by git. */
  commits: fileURLToPath(new URL('../../../../.cache/bench-commits', import.meta.url)),
  /** Reports and samples of complete runs. Ignored by git. */
  results: fileURLToPath(new URL('../../../../.results', import.meta.url)),
  /** State and logs of one run, and results of quick runs. Ignored by git. */
  work: fileURLToPath(new URL('../../../../.cache/bench', import.meta.url)),
  /** Peers from npm and PyPI. Ignored by git. */
  peers: fileURLToPath(new URL('../../../../.cache/bench-peers', import.meta.url)),
  /** Debian programs, shared with the local servers. Ignored by git. */
  debian: fileURLToPath(new URL('../../../../.infra', import.meta.url)),
} as const;
