import { REMOTE_HEALTH_TTL_MS, affectsOrder, type RemoteHealth } from '../sources/remote-health.js';
import type { ReceivedHealth } from '../ports.js';

/** Most entries: edges times sources in cooldown. Further ones are dropped. */
export const REMOTE_HEALTHS_MAX = 20_000;

const NONE: readonly RemoteHealth[] = [];

/** The last health that other edges published of sources that they have in cooldown or probe. */
export class RemoteHealths {
  /** Entries by source, one per edge. */
  readonly #entries = new Map<string, RemoteHealth[]>();
  #size = 0;
  #sweptAtMs = 0;

  of(source: string): readonly RemoteHealth[] {
    return this.#entries.get(source) ?? NONE;
  }

  /** Records a health message. An edge may split its sources into several messages. */
  record({ edge, sources }: ReceivedHealth, nowMs: number): void {
    this.#sweep(nowMs);
    for (const reported of sources) {
      const entry: RemoteHealth = {
        edge,
        heardAtMs: nowMs,
        coolUntilMs: reported.coolUntil,
        openUntilMs: reported.openUntil,
        probing: reported.probing,
        lastAtMs: reported.lastAt,
        answeredElsewhere: reported.answeredElsewhere,
      };
      const others = this.of(reported.source).filter((each) => each.edge !== edge);
      this.#put(
        reported.source,
        affectsOrder(entry, nowMs) && this.#size < REMOTE_HEALTHS_MAX ? [...others, entry] : others,
      );
    }
  }

  #put(source: string, entries: RemoteHealth[]): void {
    this.#size += entries.length - this.of(source).length;
    if (entries.length === 0) this.#entries.delete(source);
    else this.#entries.set(source, entries);
  }

  /** Removes the entries of silent edges. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < REMOTE_HEALTH_TTL_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [source, entries] of this.#entries) {
      const left = entries.filter(({ heardAtMs }) => Math.abs(nowMs - heardAtMs) < REMOTE_HEALTH_TTL_MS);
      if (left.length < entries.length) this.#put(source, left);
    }
  }
}
