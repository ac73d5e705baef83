import { fileURLToPath } from 'node:url';

/** Directories of the checkout that the benchmark uses; the same from `src` and `dist`. */
export const PLACES = {
  /** The checkout itself. */
  checkout: fileURLToPath(new URL('../../../..', import.meta.url)),
  /** Work trees of other commits, compiled. Ignored by git. */
  commits: fileURLToPath(new URL('../../../../.cache/bench-commits', import.meta.url)),
  /** Reports and samples of whole runs. Ignored by git. */
  results: fileURLToPath(new URL('../../../../.results', import.meta.url)),
  /** State and logs of one run, and results that are not to be committed. Ignored by git. */
  work: fileURLToPath(new URL('../../../../.cache/bench', import.meta.url)),
  /** Peers from npm. Ignored by git. */
  peers: fileURLToPath(new URL('../../../../.cache/bench-peers', import.meta.url)),
  /** Debian programs, beside those of the servers. Ignored by git. */
  debian: fileURLToPath(new URL('../../../../.infra', import.meta.url)),
} as const;
