import type { SourceHealthView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import type { TestOperator } from '../../test/operator.js';

/** An edge tells of its sources every 5 s. */
const TOLD_WITHIN_MS = 30_000;
const ASKED_EVERY_MS = 500;

/** A view of a source's health, and when it was read, epoch milliseconds. */
export interface ReadHealth extends SourceHealthView {
  readonly readAtMs: number;
}

/** Whether a rest of `restMs` was over when this was read: then the view has nothing of it. */
export function hasRested({ restsUntil, lastAttemptAt, readAtMs }: ReadHealth, restMs: number | null): boolean {
  return restMs !== null && restsUntil === null && readAtMs >= Date.parse(lastAttemptAt ?? '') + restMs;
}

/**
 * Reads `GET /sources/health` again and again, and keeps of each source the first view after each
 * attempt: a rest may be over when somebody asks for it.
 */
export class HealthWatch {
  readonly #operator: TestOperator;
  readonly #views = new Map<string, ReadHealth>();
  readonly #timer: NodeJS.Timeout;
  #failure: unknown = null;
  #isAsking = false;

  constructor(operator: TestOperator) {
    this.#operator = operator;
    this.#timer = setInterval(() => void this.#ask(), ASKED_EVERY_MS);
  }

  /** The view after so many attempts. */
  of(source: string, attempts: number): Promise<ReadHealth> {
    return until(
      `the health of ${source} after ${attempts} attempts`,
      () => this.#views.get(`${source} ${attempts}`),
      TOLD_WITHIN_MS,
    ).catch((error: Error) => {
      throw new Error(error.message, { cause: this.#failure });
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const views = await this.#operator.all<SourceHealthView>('/sources/health');
      const readAtMs = Date.now();
      for (const view of views) {
        const key = `${view.sourceId} ${view.attempts}`;
        if (!this.#views.has(key)) this.#views.set(key, { ...view, readAtMs });
      }
    } catch (error) {
      // Asked again soon.
      this.#failure = error;
    } finally {
      this.#isAsking = false;
    }
  }
}
