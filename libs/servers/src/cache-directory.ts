import { fileURLToPath } from 'node:url';

/** `.infra` in the checkout that this package belongs to; the same from `src` and `dist`. */
export function defaultCacheDirectory(): string {
  return fileURLToPath(new URL('../../../.infra', import.meta.url));
}
