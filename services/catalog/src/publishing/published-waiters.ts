interface Waiter {
  readonly revision: number;
  /** Resolves the wait and removes the waiter. */
  answer(published: boolean): void;
}

/** The newest revision that this replica saw published, and the waits for newer ones. */
export class PublicationWaits {
  readonly #waiting = new Set<Waiter>();
  #revision: number | null = null;

  /** Returns null before the first publication. */
  revision(): number | null {
    return this.#revision;
  }

  /**
   * Waits until the revision is published. Returns false after the timeout, or if the publisher
   * stops. Never rejects.
   */
  published(awaited: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision !== null && this.#revision >= awaited) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        revision: awaited,
        answer: (published) => {
          clearTimeout(late);
          this.#waiting.delete(waiter);
          resolve(published);
        },
      };
      const late = setTimeout(() => waiter.answer(false), timeoutMs);
      this.#waiting.add(waiter);
    });
  }

  /** Records that this revision and all older ones are published. The revision never decreases. */
  resolveUpTo(published: number): void {
    const revision = Math.max(this.#revision ?? 0, published);
    this.#revision = revision;
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.answer(true);
  }

  /** Ends all waits with false. */
  stop(): void {
    for (const waiter of this.#waiting) waiter.answer(false);
  }
}
