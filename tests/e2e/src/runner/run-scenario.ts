import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import type { CheckResult } from '../evidence/check-evidence.js';
import { countTable, renderReport, type ReportTable } from './render-report.js';

/** Relative to `dist/src/runner`. Ignored by git. */
const RESULTS = new URL('../../../../../.results/', import.meta.url);
const EXIT_WRONG_ARGUMENTS = 2;

/** Integers: the default and the bounds. */
type OptionSpecs = Readonly<Record<string, { readonly or: number; readonly min: number; readonly max: number }>>;
type OptionsOf<Specs extends OptionSpecs> = { readonly [Name in keyof Specs]: number };

/** The option of scenarios with random steps. */
export const SEED_OPTION = { or: testSeed(), min: 0, max: SEED_MAX };

/** The result of a run. `counts` become a table of the report. */
interface Findings extends Partial<CheckResult> {
  readonly violations: readonly string[];
  readonly tables: readonly ReportTable[];
}

/** A verification of the whole system. */
export interface Scenario<Specs extends OptionSpecs = OptionSpecs> {
  /** Name on the command line and of the result file. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly options: Specs;
  /** Sends requests, causes the faults, one after the other, and judges the results. */
  play(options: OptionsOf<Specs>, log: (line: string) => void): Promise<Findings>;
}

export function defineScenario<Specs extends OptionSpecs>(scenario: Scenario<Specs>): Scenario<Specs> {
  return scenario;
}

/**
 * Runs a scenario and writes its report to `.results`. Returns the exit code: 0 without violations,
 * 1 with some, 2 for invalid arguments.
 */
export async function runScenario(scenario: Scenario, args: readonly string[]): Promise<number> {
  const { name, title, about } = scenario;
  let options: OptionsOf<OptionSpecs>;
  try {
    options = parseOptions(scenario.options, args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return EXIT_WRONG_ARGUMENTS;
  }
  // A verification starts its own servers.
  for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      log(`${signal}: stopping`);
      void endSystem().then(() => process.exit(1));
    });
  const given = Object.entries(options).map((pair) => `--${pair.join(' ')}`);
  const command = [`npm run verify:faults -- ${name}`, ...given].join(' ');
  log(`start of ${command}`);
  const { violations, tables, counts, counterExample } = await scenario.play(options, log);
  const all = counts === undefined ? tables : [...tables, countTable('Requests', counts)];
  const report = renderReport({ title, command, about, tables: all, violations });
  writeFileSync(new URL(`${name}.md`, RESULTS), report);
  if (counterExample) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
  process.stdout.write(`\n${report}`);
  return violations.length === 0 ? 0 : 1;
}

/** Stops the current system. */
let endSystem: () => Promise<unknown> = () => Promise.resolve();

/** Uses a system, which ends afterwards, also after a signal. */
export async function withSystem<System extends { end(): Promise<unknown> }, Result>(
  start: Promise<System>,
  use: (system: System) => Promise<Result>,
): Promise<Result> {
  const system = await start;
  let ending: Promise<unknown> | undefined;
  endSystem = () => (ending ??= system.end());
  try {
    return await use(system);
  } finally {
    await endSystem();
  }
}

/** Plays rounds, each with its seed, until one has a violation. Adds their counts. */
export async function playRounds<Round extends { readonly seed: number }, Figures>(
  rounds: readonly Round[],
  play: (round: Round) => Promise<CheckResult & { readonly figures: Figures }>,
) {
  const violations: string[] = [];
  const counts: Record<string, number> = {};
  const figures: Figures[] = [];
  let counterExample: string | null = null;
  for (const round of rounds) {
    const played = await play(round);
    for (const [name, count] of Object.entries(played.counts)) counts[name] = (counts[name] ?? 0) + count;
    figures.push(played.figures);
    if (played.violations.length === 0) continue;
    ({ counterExample } = played);
    violations.push(...played.violations.map((sentence) => `seed ${round.seed}: ${sentence}`));
    break;
  }
  return { violations, counterExample, counts, figures };
}

function log(line: string): void {
  process.stdout.write(`${process.uptime().toFixed(1).padStart(6)} s  ${line}\n`);
}

/** @throws Error if an option is unknown or invalid */
export function parseOptions<Specs extends OptionSpecs>(specs: Specs, args: readonly string[]): OptionsOf<Specs> {
  const options = Object.fromEntries(Object.keys(specs).map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  const given = Object.entries(specs).map(([name, { or, min, max }]) => {
    const value = Number(values[name] ?? or);
    if (Number.isInteger(value) && value >= min && value <= max) return [name, value];
    throw new Error(`--${name} must be an integer from ${min} to ${max}`);
  });
  return Object.fromEntries(given) as OptionsOf<Specs>;
}
