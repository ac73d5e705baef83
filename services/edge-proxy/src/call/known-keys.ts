/** Digests of one generation; two are kept. */
const DIGESTS_MAX = 10_000;

/**
 * The keys that admission confirmed last, by their digests, and whose they are. A hint only: it
 * decides how much is read of a body before admission is asked, where that is counted, and that
 * admission is asked whatever else the key's network presents; never whether a call may be made.
 */
export class KnownKeys {
  #recent = new Map<string, string>();
  #before = new Map<string, string>();

  /** Digests that are remembered. */
  get size(): number {
    return this.#recent.size + this.#before.size;
  }

  /** Whose key it is; null: it is not among those confirmed last. */
  accountOf(digest: string): string | null {
    return this.#recent.get(digest) ?? this.#before.get(digest) ?? null;
  }

  confirmed(digest: string, account: string): void {
    if (this.#recent.get(digest) === account) return;
    if (this.#recent.size >= DIGESTS_MAX) [this.#before, this.#recent] = [this.#recent, new Map()];
    this.#recent.set(digest, account);
  }

  /** Admission does not take it any more. Whether it was known. */
  refused(digest: string): boolean {
    const wasRecent = this.#recent.delete(digest);
    return this.#before.delete(digest) || wasRecent;
  }
}
