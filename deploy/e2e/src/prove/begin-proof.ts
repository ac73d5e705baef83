import { parseArgs } from 'node:util';

/** An option of a proof: an integer within bounds. */
export interface IntegerOption {
  readonly or: number;
  readonly min: number;
  readonly max: number;
}

/** `--name N` for each of the options, from the command line; null, and told on stderr, when one is wrong. */
export function integersFrom<Name extends string>(
  options: Readonly<Record<Name, IntegerOption>>,
): Record<Name, number> | null {
  const names = Object.keys(options) as Name[];
  const config = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ options: config, strict: true, allowPositionals: false });
    const given = names.map((name) => {
      const { or, min, max } = options[name];
      const value = Number(values[name] ?? or);
      if (Number.isInteger(value) && value >= min && value <= max) return [name, value] as const;
      throw new Error(`--${name} is an integer from ${min} to ${max}`);
    });
    return Object.fromEntries(given) as Record<Name, number>;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return null;
  }
}

/** Drops the caller's settings: a proof runs on servers of its own. Gives what prints a line with the seconds since. */
export function beginProof(): (line: string) => void {
  for (const name of Object.keys(process.env)) if (name.startsWith('GATEWAY_')) delete process.env[name];
  const startedAt = performance.now();
  return (line) => {
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  };
}
