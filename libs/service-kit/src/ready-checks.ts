/**
 * True, or a short text that says what is missing. Asked at each request of /readyz: it must be
 * quick and synchronous.
 */
export type ReadyCheck = () => true | string;

export interface ReadyReport {
  readonly ready: boolean;
  /** `ok`, or what is missing, by name. */
  readonly checks: Readonly<Record<string, string>>;
}

/**
 * The named conditions under which this replica takes work. A check tells of this process only (its
 * mirror is loaded, its handlers are subscribed): one that asks a shared dependency would take
 * every replica out at once.
 */
export class ReadyChecks {
  readonly #checks = new Map<string, ReadyCheck>();

  /** Throws when the name is taken. */
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
