import { Throttle, type Logger } from '@gateway/service-kit';
import { CLASS_RULES } from '../errors/class-rules.js';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import { cleanMessage } from '../errors/provider-message.js';

/** Shortest time between two logged texts of one source. */
export const LOG_EVERY_MS = 10_000;
/** Most characters of a text that are logged, since it may quote the prompt. */
export const LOGGED_LENGTH_MAX = 300;

export interface ProviderTextsParts {
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly monotonicMs: () => number;
}

export interface ProviderText {
  readonly source: string;
  readonly requestId: string;
  readonly judged: Pick<AttemptJudgment, 'errorClass' | 'status' | 'reported'>;
}

/**
 * Logs the error texts of requests that providers reject, since clients see little of them. It logs
 * a sample per source, without credentials and addresses. Keeps one entry for each source that
 * recently rejected a request.
 */
export class ProviderTexts {
  readonly #log: ProviderTextsParts['log'];
  readonly #throttle: Throttle;

  constructor({ log, monotonicMs }: ProviderTextsParts) {
    this.#log = log;
    this.#throttle = new Throttle({ everyMs: LOG_EVERY_MS, nowMs: monotonicMs });
  }

  record({ source, requestId, judged: { errorClass, status, reported } }: ProviderText): void {
    const level = errorClass === null ? 'none' : CLASS_RULES[errorClass].log;
    if (level === 'none') return;
    const unlogged = this.#throttle.pass(source);
    if (unlogged === null) return;
    const message = reported?.message ?? null;
    // Not named `text`, which is the message of every log line.
    const providerText = message === null ? null : loggedText(message);
    const facts = { source, requestId, status, class: errorClass, providerText, unlogged };
    this.#log[level](facts, 'a provider refused a request');
  }
}

function loggedText(message: string): string {
  return Array.from(cleanMessage(message)).slice(0, LOGGED_LENGTH_MAX).join('');
}
