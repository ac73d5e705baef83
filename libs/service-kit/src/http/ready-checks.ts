/**
 * Returns true, or a short text that names the missing condition. Called for each request of
 * /readyz, so it must be fast and synchronous.
 */
export type ReadyCheck = () => true | string;

export interface ReadyReport {
  readonly ready: boolean;
  /** `ok` or the missing condition, by name. */
  readonly checks: Readonly<Record<string, string>>;
}

/**
 * The named conditions for accepting work. A check reports on this replica only (its mirror is
 * loaded, its handlers are subscribed). A check of a shared dependency would take out all replicas
 * at once.
 */
export class ReadyChecks {
  readonly #checks = new Map<string, ReadyCheck>();

  /** Throws if the name is taken. */
  add(name: string, check: ReadyCheck): void {
    if (this.#checks.has(name)) throw new Error(`a ready check named ${name} exists`);
    this.#checks.set(name, check);
  }

  report(): ReadyReport {
    const answers = [...this.#checks].map(([name, check]) => [name, answerOf(check)] as const);
    return {
      ready: answers.every(([, answer]) => answer === true),
      checks: Object.fromEntries(answers.map(([name, answer]) => [name, answer === true ? 'ok' : answer])),
    };
  }
}

function answerOf(check: ReadyCheck): true | string {
  try {
    return check();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
