/** Digests of one generation; two are kept. */
const DIGESTS_MAX = 10_000;
/** How long a generation takes new digests: what nobody confirmed again is forgotten after once to twice this time. */
const GENERATION_MS = 10 * 60_000;

/**
 * Keys that admission confirmed lately, by their digests, and whose they are. A hint only: it decides how much is read of a body
 * before admission is asked, and where that is counted; never whether a call may be made.
 */
export class KnownKeys {
  #recent = new Map<string, string>();
  #before = new Map<string, string>();
  #begunAtMs = 0;

  /** Digests that are remembered. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** Whose key it is; null: nobody has confirmed it lately. Times are monotonic. */
  accountOf(digest: string, nowMs: number): string | null {
    if (nowMs - this.#begunAtMs >= GENERATION_MS) this.#turn(nowMs);
    return this.#recent.get(digest) ?? this.#before.get(digest) ?? null;
  }

  confirmed(digest: string, account: string, nowMs: number): void {
    if (this.#recent.get(digest) === account) return;
    if (this.#recent.size >= DIGESTS_MAX) this.#turn(nowMs);
    this.#recent.set(digest, account);
  }

  /** Admission does not take it any more. */
  refused(digest: string): void {
    this.#recent.delete(digest);
    this.#before.delete(digest);
  }

  #turn(nowMs: number): void {
    this.#before = nowMs - this.#begunAtMs >= 2 * GENERATION_MS ? new Map() : this.#recent;
    this.#recent = new Map();
    this.#begunAtMs = nowMs;
  }
}
