/**
 * Work for the end of this turn of the event loop. What the edge tells admission and the stream in one turn leaves in one
 * write to the bus (docs/decisions/0030-batch-by-event-loop-tick.md): a write of its own for each
 * message costs more than making the messages.
 */
export class TurnEnd {
  #due: (() => void)[] = [];

  do(work: () => void): void {
    if (this.#due.push(work) === 1) setImmediate(() => this.#run());
  }

  /** All in one callback: between two, the bus would write what it has. */
  #run(): void {
    const works = this.#due;
    this.#due = [];
    for (const work of works) work();
  }
}
