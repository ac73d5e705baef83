import type { Gateway, OperatorApi } from './operator-api.js';
import type { Arguments } from './read-arguments.js';

export interface Output {
  out(text: string): void;
  error(text: string): void;
}

/** The time, and waiting for a later one. */
export interface ProgramClock {
  /** Epoch milliseconds. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

/** What a program of the command line is given. */
export interface ProgramContext {
  /** What stands behind the program's name. */
  readonly words: readonly string[];
  readonly fields: Arguments['fields'];
  /** `--file`. */
  readonly file: string | null;
  readonly api: OperatorApi;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: ProgramClock;
  /** The gateway of a local system, for commands to paste; null: it is not known here. */
  readonly gateway: Gateway | null;
  readonly to: Output;
}

/**
 * A command that asks the operator API several things. Answers the exit code: 0 done, 1 refused.
 * Rejects with {@link Unfit} for what was asked wrongly.
 */
export interface Program {
  readonly name: readonly string[];
  /** Its form, for the help. */
  readonly form: string;
  run(context: ProgramContext): Promise<number>;
}

/** Something that is asked cannot be done as it is. The message says why, and what to do. */
export class Unfit extends Error {}

export interface Options {
  readonly flags: ReadonlySet<string>;
  /** The values of an option, in their order. */
  all(name: string): readonly string[];
  /** Of an option that is given at most once. */
  one(name: string): string | null;
}

/** Options of a program; any other is refused. @throws Unfit */
export function readOptions(
  fields: Arguments['fields'],
  known: { readonly flags: readonly string[]; readonly values: readonly string[] },
): Options {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) {
    if (known.flags.includes(name)) {
      if (value !== 'true') throw new Unfit(`--${name} takes no value: put ${value} before it`);
      flags.add(name);
    } else if (known.values.includes(name)) {
      if (value === 'true') throw new Unfit(`--${name} needs a value`);
      values.set(name, [...(values.get(name) ?? []), value]);
    } else throw new Unfit(`there is no option --${name}: there are ${names([...known.flags, ...known.values])}`);
  }
  return {
    flags,
    all: (name) => values.get(name) ?? [],
    one(name) {
      const [first, second] = values.get(name) ?? [];
      if (second !== undefined) throw new Unfit(`--${name} is given twice`);
      return first ?? null;
    },
  };
}

function names(options: readonly string[]): string {
  return options.map((name) => `--${name}`).join(', ');
}
