import { REMOTE_HEALTH_TTL_MS, affectsOrder, type RemoteHealth } from '../sources/remote-health.js';
import type { ReceivedHealth } from '../ports.js';

/** Most entries: edges times sources in cooldown. Further ones are dropped. */
export const NEWS_MAX = 20_000;

const NONE: readonly RemoteHealth[] = [];

/** The last health that other edges published of sources that they have in cooldown or probe. */
export class RemoteHealths {
  /** Entries by source, one per edge. */
  readonly #news = new Map<string, RemoteHealth[]>();
  #size = 0;
  #sweptAtMs = 0;

  of(source: string): readonly RemoteHealth[] {
    return this.#news.get(source) ?? NONE;
  }

  /** Records a health message. An edge may split its sources into several messages. */
  heard({ edge, sources }: ReceivedHealth, nowMs: number): void {
    this.#sweep(nowMs);
    for (const told of sources) {
      const news: RemoteHealth = {
        edge,
        heardAtMs: nowMs,
        coolUntilMs: told.coolUntil,
        openUntilMs: told.openUntil,
        probing: told.probing,
        lastAtMs: told.lastAt,
        answeredElsewhere: told.answeredElsewhere,
      };
      const others = this.of(told.source).filter((each) => each.edge !== edge);
      this.#put(told.source, affectsOrder(news, nowMs) && this.#size < NEWS_MAX ? [...others, news] : others);
    }
  }

  #put(source: string, news: RemoteHealth[]): void {
    this.#size += news.length - this.of(source).length;
    if (news.length === 0) this.#news.delete(source);
    else this.#news.set(source, news);
  }

  /** Removes the entries of silent edges. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < REMOTE_HEALTH_TTL_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [source, news] of this.#news) {
      const left = news.filter(({ heardAtMs }) => Math.abs(nowMs - heardAtMs) < REMOTE_HEALTH_TTL_MS);
      if (left.length < news.length) this.#put(source, left);
    }
  }
}
