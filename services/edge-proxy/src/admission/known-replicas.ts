/** Silence after which a replica gets no requests by name. */
const FORGET_MS = 60_000;
/** With fewer replicas than this, a retry names none. */
const OTHERS_MIN = 2;
/** For this time after a replica has announced its stop, its late answers do not add it again. */
const LEAVING_MS = 10_000;

/** Tracks the replicas of admission by their answers, for retries at another replica. */
export class KnownReplicas {
  readonly #heardAt = new Map<string, number>();
  readonly #leftAt = new Map<string, number>();

  record(replica: string, nowMs: number): void {
    if (this.#leftAt.size > 0 && this.#isLeaving(replica, nowMs)) return;
    this.#heardAt.set(replica, nowMs);
  }

  /** Removes a replica that no longer receives requests. Its next answer adds it again. */
  forget(replica: string): void {
    this.#heardAt.delete(replica);
  }

  /** Removes a replica that announced its stop. Its remaining answers do not add it again. */
  left(replica: string, nowMs: number): void {
    for (const [one, at] of this.#leftAt) if (nowMs - at > LEAVING_MS) this.#leftAt.delete(one);
    this.#leftAt.set(replica, nowMs);
    this.forget(replica);
  }

  #isLeaving(replica: string, nowMs: number): boolean {
    const leftAt = this.#leftAt.get(replica);
    if (leftAt === undefined) return false;
    if (nowMs - leftAt <= LEAVING_MS) return true;
    this.#leftAt.delete(replica);
    return false;
  }

  /**
   * Returns the replica that answered last among those not in `asked`; a replica that hangs has
   * been silent longest. Returns undefined, which means any replica, if fewer than two are known or
   * all were tried.
   */
  other(asked: readonly string[], nowMs: number): string | undefined {
    for (const [replica, at] of this.#heardAt) if (nowMs - at > FORGET_MS) this.#heardAt.delete(replica);
    if (this.#heardAt.size < OTHERS_MIN) return undefined;
    let best: string | undefined;
    let bestAt = -Infinity;
    for (const [replica, at] of this.#heardAt) {
      if (asked.includes(replica) || at <= bestAt) continue;
      best = replica;
      bestAt = at;
    }
    return best;
  }
}
