/**
 * What a field says of itself: for the generated table of variables and the line written at the
 * start.
 */
export interface FieldFacts {
  readonly doc: string;
  readonly secret: boolean;
  /** NAME_PREVIOUS is read too. */
  readonly rotatable: boolean;
  readonly required: boolean;
  /** As one would write it in the environment; null when there is none. */
  readonly default: string | null;
}

/**
 * A value, or what is wrong. `name` tells which variable is meant when it is not the field's own
 * (e.g. NAME_FILE).
 */
export type Outcome<T> = { readonly value: T } | { readonly problem: string; readonly name?: string };

/** How one environment variable is read. Made by `field`. */
export interface ConfigField<T = unknown> extends FieldFacts {
  read(name: string, env: NodeJS.ProcessEnv): Outcome<T>;
  /** The value for a log line: a secret gives `[secret]`, an absent value null. */
  print(value: T): string | null;
}

export type ConfigFields = Readonly<Record<string, AnyField>>;

/**
 * `print` takes the field's own type, so a plain `ConfigField<unknown>` would refuse every concrete
 * field.
 */
type AnyField = Omit<ConfigField, 'print'> & { print(value: never): string | null };

/** The typed values, under the names of their variables. */
export type ConfigOf<S extends ConfigFields> = {
  readonly [K in keyof S]: S[K] extends { read(name: string, env: NodeJS.ProcessEnv): Outcome<infer T> } ? T : never;
};

/** Lists every problem of a configuration at once. Its message holds no secret's value. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/**
 * Reads all fields from `env`; an empty variable counts as not set. Throws ConfigurationError
 * naming every problem.
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

export interface ConfigDescription extends FieldFacts {
  readonly name: string;
}

/** One row for each variable, in the order of `fields`. */
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

/** The values as text for a log line, secrets as `[secret]`. */
export function printConfig<S extends ConfigFields>(fields: S, config: ConfigOf<S>): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, field.print(config[name as keyof S] as never)]),
  );
}
