import type { Logger } from '@gateway/service-kit';
import { CLASS_RULES } from '../domain/class-rules.js';
import type { JudgedAttempt } from '../domain/judge-attempt.js';
import { cleanMessage } from '../domain/provider-message.js';

/** A source's texts are logged at most once in this time. */
export const LOG_EVERY_MS = 10_000;
/** Characters of a text that are logged: it may quote the prompt. */
export const LOGGED_LENGTH_MAX = 300;

export interface ProviderTextsParts {
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly monotonicMs: () => number;
}

export interface HeardText {
  readonly source: string;
  readonly requestId: string;
  readonly judged: Pick<JudgedAttempt, 'errorClass' | 'status' | 'said'>;
}

interface Logged {
  atMs: number;
  /** Since then. */
  unlogged: number;
}

/**
 * Shows the operator what providers say of calls that they refuse, since clients see little of it: a sample, cleaned of credentials and
 * addresses, in the log alone. It remembers one entry for each source that refused something lately.
 */
export class ProviderTexts {
  readonly #parts: ProviderTextsParts;
  readonly #logged = new Map<string, Logged>();

  constructor(parts: ProviderTextsParts) {
    this.#parts = parts;
  }

  heard({ source, requestId, judged: { errorClass, status, said } }: HeardText): void {
    const level = errorClass === null ? 'none' : CLASS_RULES[errorClass].log;
    if (level === 'none') return;
    const nowMs = this.#parts.monotonicMs();
    const before = this.#logged.get(source);
    if (before !== undefined && nowMs - before.atMs < LOG_EVERY_MS) {
      before.unlogged += 1;
      return;
    }
    for (const [id, { atMs }] of this.#logged) if (nowMs - atMs >= LOG_EVERY_MS) this.#logged.delete(id);
    this.#logged.set(source, { atMs: nowMs, unlogged: 0 });
    const text = said?.message === undefined || said.message === null ? null : loggedText(said.message);
    const facts = { source, requestId, status, class: errorClass, text, unlogged: before?.unlogged ?? 0 };
    this.#parts.log[level](facts, 'a provider refused a request');
  }
}

function loggedText(message: string): string {
  return Array.from(cleanMessage(message)).slice(0, LOGGED_LENGTH_MAX).join('');
}
