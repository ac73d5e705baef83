/** A replica that said nothing for so long is not asked by name. */
const FORGET_MS = 60_000;
/** Below this number there is no "other" replica: any may be asked. */
const OTHERS_MIN = 2;

/** Replicas of admission, learned from their answers: a retry goes to another one's own subject. */
export class KnownReplicas {
  readonly #heardAt = new Map<string, number>();

  heard(replica: string, nowMs: number): void {
    this.#heardAt.set(replica, nowMs);
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
