import type { Logger } from '@gateway/service-kit';

/** A source is named in the log at most once in this time. */
const LOG_EVERY_MS = 60_000;

export interface PrivateSourcesParts {
  readonly log: Logger;
  readonly monotonicMs: () => number;
  /** Called at each refusal. */
  readonly onRefused: () => void;
}

/** Tells the operator of sources that were not connected to because their address is private. */
export class PrivateSources {
  readonly #parts: PrivateSourcesParts;
  /** Source and the monotonic time at which it was logged. */
  readonly #logged = new Map<string, number>();

  constructor(parts: PrivateSourcesParts) {
    this.#parts = parts;
  }

  /** @param reason names the address */
  refused(source: string, reason: string): void {
    const { log, monotonicMs, onRefused } = this.#parts;
    onRefused();
    const now = monotonicMs();
    const before = this.#logged.get(source);
    if (before !== undefined && now - before < LOG_EVERY_MS) return;
    for (const [id, at] of this.#logged) if (now - at >= LOG_EVERY_MS) this.#logged.delete(id);
    this.#logged.set(source, now);
    log.warn({ source, reason }, 'a source was not connected to: private addresses are not allowed');
  }
}
