interface Flight<T> {
  readonly running: Promise<T>;
  /** Begins when `running` has ended. */
  next: Promise<T> | null;
}

/**
 * Callers who ask for the same at about the same time share one run. A run that fails does so for
 * its callers only.
 */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Joins the run of this key that is under way, or begins one. */
  join(key: string, work: () => Promise<T>): Promise<T> {
    return this.#flights.get(key)?.running ?? this.#begin(key, work);
  }

  /**
   * Shares a run that begins after this call, so that the answer is never older than the question.
   * While a run is under way, all callers wait for the one that follows it, with the `work` of the
   * first of them.
   */
  follow(key: string, work: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(key);
    if (flight === undefined) return this.#begin(key, work);
    const begin = (): Promise<T> => this.#begin(key, work);
    return (flight.next ??= flight.running.then(begin, begin));
  }

  #begin(key: string, work: () => Promise<T>): Promise<T> {
    const flight: Flight<T> = {
      next: null,
      running: work().finally(() => {
        if (flight.next === null) this.#flights.delete(key);
      }),
    };
    this.#flights.set(key, flight);
    return flight.running;
  }
}
