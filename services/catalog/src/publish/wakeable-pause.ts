/** A wait that can be ended early. One at a time. */
export class WakeablePause {
  #end: () => void = () => undefined;

  /** Resolves after the time, or when it is ended; null: only when it is ended. */
  pause(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the pause that runs, if any; the next one is not shortened. */
  end(): void {
    this.#end();
  }
}
