/** A replica that said nothing for so long is not asked by name. */
const FORGET_MS = 60_000;
/** Below this number there is no "other" replica: any may be asked. */
const OTHERS_MIN = 2;
/** Answers of a replica that has said that it leaves, while it ends what it has taken: it is not asked by name for them. */
const LEAVING_MS = 10_000;

/** Replicas of admission, learned from their answers: a retry goes to another one's own subject. */
export class KnownReplicas {
  readonly #heardAt = new Map<string, number>();
  readonly #leftAt = new Map<string, number>();

  heard(replica: string, nowMs: number): void {
    if (this.#leftAt.size > 0 && this.#isLeaving(replica, nowMs)) return;
    this.#heardAt.set(replica, nowMs);
  }

  /** Nobody listens under this name any more. A replica that comes back under it is heard again. */
  forget(replica: string): void {
    this.#heardAt.delete(replica);
  }

  /** The replica has said that it stops: what it still answers does not bring it back. */
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
   * The replica heard last among those not yet `asked`: one that hangs has been silent longest. Undefined, any replica,
   * while fewer than two are known or when all were asked.
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
