import { parseArgs } from 'node:util';
import type { Workload } from './capacity.js';

/** Defaults of the options; the page of docs/sizing.md is the output for them. */
const DEFAULTS = {
  rate: '100,500,2000,10000',
  duration: '10',
  streamed: '50',
  chunks: '20',
  accounts: '100000',
  outage: '60',
} as const;
const PERCENT_MAX = 100;

export interface CapacityOptions {
  /** One for each rate. */
  readonly workloads: readonly Workload[];
  /** Results of `npm run bench` to compare with, or null. */
  readonly compare: string | null;
}

/** Reads the command line. @throws Error with a text for the user */
export function readOptions(args: readonly string[]): CapacityOptions {
  const text = { type: 'string' } as const;
  const names = [...Object.keys(DEFAULTS), 'streams', 'compare'];
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(names.map((name) => [name, text])),
  }) as { values: Partial<Record<keyof typeof DEFAULTS | 'streams' | 'compare', string>> };
  const given = { ...DEFAULTS, ...values };
  const amount = (name: string, value: string): number => {
    const parsed = Number(value);
    if (value.trim() === '' || !Number.isFinite(parsed) || parsed < 0)
      throw new Error(`--${name} must be a number that is not negative: ${value}`);
    return parsed;
  };
  const read = (name: keyof typeof DEFAULTS): number => amount(name, given[name]);
  const streamed = read('streamed');
  if (streamed > PERCENT_MAX) throw new Error(`--streamed is a percentage: ${streamed}`);
  const durationSeconds = read('duration');
  const workloads = given.rate.split(',').map((each) => {
    const rate = amount('rate', each);
    if (rate === 0) throw new Error('--rate must be above 0');
    return {
      rate,
      durationSeconds,
      streams:
        given.streams === undefined
          ? Math.ceil((rate * durationSeconds * streamed) / PERCENT_MAX)
          : amount('streams', given.streams),
      chunksPerSecond: read('chunks'),
      accounts: read('accounts'),
      outageMinutes: read('outage'),
    };
  });
  return { workloads, compare: given.compare ?? null };
}
