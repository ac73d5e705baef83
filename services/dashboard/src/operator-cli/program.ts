import type { Gateway, OperatorApi } from './operator-api.js';
import type { Arguments } from './read-arguments.js';

export interface Output {
  out(text: string): void;
  error(text: string): void;
}

/** The clock of a program; tests replace it. */
export interface ProgramClock {
  /** Epoch milliseconds. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

/** The input of a command-line program. */
export interface ProgramContext {
  /** The words after the program's name. */
  readonly words: readonly string[];
  readonly fields: Arguments['fields'];
  /** `--file`. */
  readonly file: string | null;
  readonly api: OperatorApi;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: ProgramClock;
  /** The gateway of a local system, for printed example commands; null if unknown. */
  readonly gateway: Gateway | null;
  readonly to: Output;
}

/**
 * A command that sends several requests to the operator API. Returns the exit code: 0 success, 1
 * refused. Rejects with {@link UsageError} for invalid arguments.
 */
export interface Program {
  readonly name: readonly string[];
  /** Usage line for the help. */
  readonly form: string;
  run(context: ProgramContext): Promise<number>;
}

/** An invalid argument or input. The message gives the reason and a remedy. */
export class UsageError extends Error {}

export interface Options {
  readonly flags: ReadonlySet<string>;
  /** The values of an option, in order. */
  all(name: string): readonly string[];
  /** The value of an option that may be given once. */
  one(name: string): string | null;
}

/** Parses the options of a program and refuses unknown ones. @throws Unfit */
export function readOptions(
  fields: Arguments['fields'],
  known: { readonly flags: readonly string[]; readonly values: readonly string[] },
): Options {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) {
    if (known.flags.includes(name)) {
      if (value !== 'true') throw new UsageError(`--${name} takes no value: put ${value} before it`);
      flags.add(name);
    } else if (known.values.includes(name)) {
      if (value === 'true') throw new UsageError(`--${name} needs a value`);
      values.set(name, [...(values.get(name) ?? []), value]);
    } else throw new UsageError(`there is no option --${name}; options: ${names([...known.flags, ...known.values])}`);
  }
  return {
    flags,
    all: (name) => values.get(name) ?? [],
    one(name) {
      const [first, second] = values.get(name) ?? [];
      if (second !== undefined) throw new UsageError(`--${name} is given twice`);
      return first ?? null;
    },
  };
}

function names(options: readonly string[]): string {
  return options.map((name) => `--${name}`).join(', ');
}
