/** Digests in one generation. The two latest generations are kept. */
const DIGESTS_MAX = 10_000;

/**
 * The digests of keys that admission confirmed recently, and their accounts. They are only a hint.
 * They decide how much of a body is read before admission, to which account it is counted, and that
 * the key is looked up even if its network presented many unknown keys. They never decide whether a
 * call is admitted.
 */
export class KnownKeys {
  #recent = new Map<string, string>();
  #before = new Map<string, string>();

  /** Number of remembered digests. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** The account of the key; null: the key was not confirmed recently. */
  accountOf(digest: string): string | null {
    return this.#recent.get(digest) ?? this.#before.get(digest) ?? null;
  }

  confirmed(digest: string, account: string): void {
    if (this.#recent.get(digest) === account) return;
    if (this.#recent.size >= DIGESTS_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(digest, account);
  }

  /** Removes a key that admission refused. Returns whether it was known. */
  refused(digest: string): boolean {
    const wasRecent = this.#recent.delete(digest);
    return this.#before.delete(digest) || wasRecent;
  }
}
