/**
 * Runs work at the end of this tick of the event loop. All messages of one tick leave in one write
 * to the bus (docs/decisions/0030-batch-by-event-loop-tick.md): one write for each message costs
 * more than composing the messages.
 */
export class TickEnd {
  #due: (() => void)[] = [];

  do(work: () => void): void {
    if (this.#due.push(work) === 1) setImmediate(() => this.#run());
  }

  /** Runs everything in one callback: between two callbacks the bus would write. */
  #run(): void {
    const works = this.#due;
    this.#due = [];
    for (const work of works) work();
  }
}
