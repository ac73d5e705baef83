import { parseArgs } from 'node:util';

/** An option of a proof: an integer within bounds. */
export interface IntegerOption {
  readonly or: number;
  readonly min: number;
  readonly max: number;
}

/** Integers by their names, and the text of each option of `texts` that was given. */
export type OptionsOf<Name extends string, Text extends string> = Readonly<
  Record<Name, number> & Partial<Record<Text, string>>
>;

/**
 * `--name N` and `--name TEXT` from the command line; null, and told on stderr, when one is wrong.
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
      throw new Error(`--${name} is an integer from ${min} to ${max}`);
    });
    return { ...values, ...Object.fromEntries(given) } as OptionsOf<Name, Text>;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return null;
  }
}

/**
 * Drops the caller's settings: a proof runs on servers of its own. Gives what prints a line with
 * the seconds since.
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
 * Ctrl-C ends what the proof has started before the process itself. Of a proof that starts several
 * things one after the other it is the last.
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
