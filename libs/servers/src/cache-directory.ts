import { fileURLToPath } from 'node:url';

/** Returns `.infra` in the checkout of this package, for code in `src` and in `dist`. */
export function defaultCacheDirectory(): string {
  return fileURLToPath(new URL('../../../.infra', import.meta.url));
}
