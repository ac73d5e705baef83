import { until } from '@gateway/testkit';

const WITHIN_MS = 180_000;

/**
 * Repeats a request while the operator API returns 503: after a start or a fault on a busy machine.
 */
export function patiently<T>(what: string, read: () => Promise<T>): Promise<Exclude<T, undefined | null | false>> {
  const tried = (): Promise<T | undefined> =>
    read().catch((error: Error) => {
      if (error.message.includes(': 503 ')) return undefined;
      throw error;
    });
  return until(what, tried, WITHIN_MS);
}
