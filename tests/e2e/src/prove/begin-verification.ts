import { parseArgs } from 'node:util';

/** An integer option of a verification with its default and bounds. */
export interface IntegerOption {
  readonly or: number;
  readonly min: number;
  readonly max: number;
}

/** The integer options, and each option of `texts` that the command line contains. */
export type OptionsOf<Name extends string, Text extends string> = Readonly<
  Record<Name, number> & Partial<Record<Text, string>>
>;

/**
 * Parses `--name N` and `--name TEXT` from the command line. Prints the error to stderr and returns
 * null if an option is invalid.
 */
export function optionsFrom<Name extends string, Text extends string = never>(
  integers: Readonly<Record<Name, IntegerOption>>,
  texts: readonly Text[] = [],
): OptionsOf<Name, Text> | null {
  const names = Object.keys(integers) as Name[];
  const config = Object.fromEntries([...names, ...texts].map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ options: config, strict: true, allowPositionals: false });
    const given = names.map((name) => {
      const { or, min, max } = integers[name];
      const value = Number(values[name] ?? or);
      if (Number.isInteger(value) && value >= min && value <= max) return [name, value] as const;
      throw new Error(`--${name} must be an integer from ${min} to ${max}`);
    });
    return { ...values, ...Object.fromEntries(given) } as OptionsOf<Name, Text>;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return null;
  }
}

/**
 * Clears the caller's `GATEWAY_` variables, because a verification starts its own servers. Returns
 * a function that prints a line with the elapsed seconds.
 */
export function beginVerification(): (line: string) => void {
  for (const name of Object.keys(process.env)) if (name.startsWith('GATEWAY_')) delete process.env[name];
  const startedAt = performance.now();
  return (line) => {
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  };
}

let stopStarted: (() => Promise<unknown>) | null = null;

/**
 * On SIGINT and SIGTERM, calls `stop` before the process exits. If a verification registers several
 * functions, only the last one is called.
 */
export function breakOffBy(stop: () => Promise<unknown>): void {
  const isFirst = stopStarted === null;
  stopStarted = stop;
  if (!isFirst) return;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      process.stderr.write(`${signal}: stopping\n`);
      void stopStarted?.().then(() => process.exit(1));
    });
  }
}
