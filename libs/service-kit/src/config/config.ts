/** The description of a field, for the table of variables and the log line at startup. */
export interface FieldDescription {
  readonly doc: string;
  readonly secret: boolean;
  /** True: NAME_PREVIOUS is read too. */
  readonly rotatable: boolean;
  readonly required: boolean;
  /** The default as written in the environment; null if there is none. */
  readonly default: string | null;
}

/**
 * A value, or a problem. `name` is set if the problem concerns another variable than the field's
 * own (such as NAME_FILE).
 */
export type Outcome<T> = { readonly value: T } | { readonly problem: string; readonly name?: string };

/** Describes how one environment variable is read. Created by `field`. */
export interface ConfigField<T = unknown> extends FieldDescription {
  read(name: string, env: NodeJS.ProcessEnv): Outcome<T>;
  /** Formats the value for a log line: `[secret]` for a secret, null for an absent value. */
  print(value: T): string | null;
}

export type ConfigFields = Readonly<Record<string, AnyField>>;

/**
 * `print` takes the field's own type, so a plain `ConfigField<unknown>` would not accept any
 * concrete field.
 */
type AnyField = Omit<ConfigField, 'print'> & { print(value: never): string | null };

/** The typed values, keyed by the names of their variables. */
export type ConfigOf<S extends ConfigFields> = {
  readonly [K in keyof S]: S[K] extends { read(name: string, env: NodeJS.ProcessEnv): Outcome<infer T> } ? T : never;
};

/** Lists all problems of a configuration. The message contains no secret value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/**
 * Reads all fields from `env`. An empty variable counts as not set. Throws ConfigurationError with
 * all problems.
 */
export function readConfig<S extends ConfigFields>(fields: S, env: NodeJS.ProcessEnv): ConfigOf<S> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const outcome = field.read(name, env);
    if ('problem' in outcome) problems.push(`${outcome.name ?? name} ${outcome.problem}. It is: ${field.doc}`);
    else values[name] = outcome.value;
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return values as ConfigOf<S>;
}

export interface ConfigDescription extends FieldDescription {
  readonly name: string;
}

/** Returns one row for each variable, in the order of `fields`. */
export function describeConfig(fields: ConfigFields): ConfigDescription[] {
  return Object.entries(fields).map(([name, field]) => ({
    name,
    required: field.required,
    default: field.default,
    doc: field.doc,
    secret: field.secret,
    rotatable: field.rotatable,
  }));
}

/** Returns the values as text for a log line, secrets as `[secret]`. */
export function printConfig<S extends ConfigFields>(fields: S, config: ConfigOf<S>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.print(config[name as keyof S] as never)]),
  );
}
