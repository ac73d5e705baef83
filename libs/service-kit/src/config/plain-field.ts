import type { ConfigField, FieldDescription, Outcome } from './config.js';

export interface Doc {
  /** Purpose of the variable, shown in the table of variables and after a problem. */
  readonly doc: string;
}

/**
 * Without a default the variable must be set. With `default: null` it may be absent and is read as
 * null.
 */
export interface Defaulted<T> extends Doc {
  readonly default?: T | null;
}

export type Absent<O> = O extends { readonly default: infer D } ? (null extends D ? null : never) : never;

/** Creates a field with a visible value. `print` formats it as in the environment. */
export function createPlainField<T, O extends Defaulted<T>>(
  options: O,
  parse: (text: string) => Outcome<T>,
  print: (value: T) => string = String,
): ConfigField<T | Absent<O>> {
  const fallback = options.default;
  const facts: FieldDescription = {
    doc: options.doc,
    secret: false,
    rotatable: false,
    required: fallback === undefined,
    default: fallback === undefined || fallback === null ? null : print(fallback),
  };
  return {
    ...facts,
    read(name, env) {
      const text = env[name]?.trim() ?? '';
      if (text !== '') return parse(text);
      if (fallback === undefined) return problem('is not set');
      return { value: fallback as T | Absent<O> };
    },
    print: (value) => (value === null ? null : print(value as T)),
  };
}

export function readNumber(
  text: string,
  form: RegExp,
  formText: string,
  { min, max }: { readonly min: number; readonly max: number },
): Outcome<number> {
  const value = form.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max
    ? { value }
    : problem(`must be ${formText} from ${min} to ${max}, not ${formatShown(text)}`);
}

export function problem(text: string): { problem: string } {
  return { problem: text };
}

const SHOWN_CHARACTERS_MAX = 64;

/**
 * Formats the value of a variable for an error, short and on one line. Leaves out text that looks
 * like a URL with a password.
 */
export function formatShown(text: string): string {
  if (text.includes('@')) return 'what it holds';
  return JSON.stringify(text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}...` : text);
}
