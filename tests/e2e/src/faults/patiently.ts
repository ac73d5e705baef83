import { until } from '@gateway/testkit';

const WITHIN_MS = 180_000;

/**
 * Asks again while the operator API answers 503: after a start, or after a fault, on a machine that
 * is busy.
 */
export function patiently<T>(what: string, read: () => Promise<T>): Promise<Exclude<T, undefined | null | false>> {
  const tried = (): Promise<T | undefined> =>
    read().catch((error: Error) => {
      if (error.message.includes(': 503 ')) return undefined;
      throw error;
    });
  return until(what, tried, WITHIN_MS);
}
