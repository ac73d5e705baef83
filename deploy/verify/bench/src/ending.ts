/** Collects steps that end started resources, and runs them in reverse order. */
export class Ending {
  readonly #steps: { what: string; end: () => Promise<void> | void }[] = [];

  add(what: string, end: () => Promise<void> | void): void {
    this.#steps.push({ what, end });
  }

  /** Runs every step even if one fails. */
  async run(onFault: (text: string) => void): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.end();
      } catch (error) {
        onFault(`${step.what} could not be ended in order: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}
