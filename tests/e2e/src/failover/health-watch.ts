import type { SourceHealthView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import type { TestOperator } from '../../test/operator.js';

/** An edge reports its sources every 5 s, and shows attempts for at least 2.5 minutes. */
const REPORTED_WITHIN_MS = 90_000;
const POLL_MS = 500;

/** The health of a source, and its read time in epoch milliseconds. */
export interface ReadHealth extends SourceHealthView {
  readonly readAtMs: number;
}

/**
 * Whether a cooldown of `restMs` was over when the health was read. The view then no longer shows
 * it.
 */
export function hasRested({ restsUntil, lastAttemptAt, readAtMs }: ReadHealth, restMs: number | null): boolean {
  return restMs !== null && restsUntil === null && readAtMs >= Date.parse(lastAttemptAt ?? '') + restMs;
}

/**
 * Polls `GET /sources/health` and stores the first view of each source after each attempt, because
 * a short cooldown may be over before a test reads it.
 */
export class HealthWatch {
  readonly #operator: TestOperator;
  readonly #views = new Map<string, ReadHealth>();
  readonly #timer: NodeJS.Timeout;
  #failure: unknown = null;
  #isPolling = false;

  constructor(operator: TestOperator) {
    this.#operator = operator;
    this.#timer = setInterval(() => void this.#poll(), POLL_MS);
  }

  of(source: string, attempts: number): Promise<ReadHealth> {
    return until(
      `the health of ${source} after ${attempts} attempts`,
      () => this.#views.get(`${source} ${attempts}`),
      REPORTED_WITHIN_MS,
    ).catch((error: Error) => {
      const seen = [...this.#views.keys()].filter((key) => key.startsWith(`${source} `));
      throw new Error(`${error.message}; seen: ${seen.join() || 'nothing'}`, { cause: this.#failure });
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const views = await this.#operator.all<SourceHealthView>('/sources/health');
      const readAtMs = Date.now();
      for (const view of views) {
        const key = `${view.sourceId} ${view.attempts}`;
        if (!this.#views.has(key)) this.#views.set(key, { ...view, readAtMs });
      }
    } catch (error) {
      // The next poll follows soon.
      this.#failure = error;
    } finally {
      this.#isPolling = false;
    }
  }
}
