interface Flight<T> {
  readonly running: Promise<T>;
  /** Starts when `running` has ended. */
  next: Promise<T> | null;
}

/** Lets concurrent callers of a key share one run. A failed run rejects only its callers. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** Joins the current run of this key, or starts one. */
  join(key: string, work: () => Promise<T>): Promise<T> {
    return this.#flights.get(key)?.running ?? this.#begin(key, work);
  }

  /**
   * Shares a run that starts after this call, so that its result is never older than the call.
   * During a run all callers wait for the next one, which uses the `work` of the first of them.
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
