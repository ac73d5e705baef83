import type { SourceHealthView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import type { TestOperator } from '../../test/operator.js';

/** An edge tells of its sources every 5 s. */
const TOLD_WITHIN_MS = 30_000;
const ASKED_EVERY_MS = 500;

/**
 * Reads `GET /sources/health` again and again, and keeps of each source the first view after each
 * attempt: a rest may be over when somebody asks for it.
 */
export class HealthWatch {
  readonly #operator: TestOperator;
  readonly #views = new Map<string, SourceHealthView>();
  readonly #timer: NodeJS.Timeout;
  #failure: Error | null = null;
  #isAsking = false;

  constructor(operator: TestOperator) {
    this.#operator = operator;
    this.#timer = setInterval(() => void this.#ask(), ASKED_EVERY_MS);
  }

  /** The view after so many attempts. */
  of(source: string, attempts: number): Promise<SourceHealthView> {
    return until(
      `the health of ${source} after ${attempts} attempts`,
      () => {
        if (this.#failure !== null) throw this.#failure;
        return this.#views.get(`${source} ${attempts}`);
      },
      TOLD_WITHIN_MS,
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (const view of await this.#operator.all<SourceHealthView>('/sources/health')) {
        const key = `${view.sourceId} ${view.attempts}`;
        if (!this.#views.has(key)) this.#views.set(key, view);
      }
    } catch (error) {
      this.#failure = error as Error;
    } finally {
      this.#isAsking = false;
    }
  }
}
