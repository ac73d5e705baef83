interface Waiter {
  readonly revision: number;
  /** Resolves the wait and removes the waiter. */
  answer(published: boolean): void;
}

/** The newest revision that this replica saw published, and those who wait for a newer one. */
export class PublishedWaiters {
  readonly #waiting = new Set<Waiter>();
  #revision: number | null = null;

  /** Null before the first publication. */
  revision(): number | null {
    return this.#revision;
  }

  /**
   * Resolves when that revision is published, or with false after the time or when the publisher
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

  /** This revision is published, and with it every older one; the revision never goes back. */
  resolveUpTo(published: number): void {
    const revision = Math.max(this.#revision ?? 0, published);
    this.#revision = revision;
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.answer(true);
  }

  /** Nothing more will be published: every wait ends with false. */
  stop(): void {
    for (const waiter of this.#waiting) waiter.answer(false);
  }
}
