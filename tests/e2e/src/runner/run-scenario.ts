import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { countTable, renderReport } from './render-report.js';
import type { OptionSpecs, OptionsOf, Round, Scenario } from './scenario.js';

/** Relative to `dist/src/runner`. Ignored by git. */
const RESULTS = new URL('../../../../../.results/', import.meta.url);
const EXIT_WRONG_ARGUMENTS = 2;

/** A scenario without its types, so that all scenarios fit into one list. */
export interface RunnableScenario {
  readonly name: string;
  /**
   * Plays the rounds until one has a violation, each on a new system. After each round the report
   * is written to `.results`. Returns the exit code: 0 without violations, 1 with some, 2 for
   * invalid arguments.
   */
  run(args: readonly string[]): Promise<number>;
}

export function runnable<Specs extends OptionSpecs, World extends { end(): Promise<unknown> }, Seen, Figures>(
  scenario: Scenario<Specs, World, Seen, Figures>,
): RunnableScenario {
  const { name, title, about } = scenario;

  const play = async (options: OptionsOf<Specs>): Promise<Round<OptionsOf<Specs>, Figures>> => {
    log(`start of ${commandOf(name, options)}`);
    const world = await scenario.start(scenario.topology, options);
    let ending: Promise<unknown> | undefined;
    endWorld = () => (ending ??= world.end());
    try {
      const seen = await scenario.fault(world, { options, log });
      log('checking');
      return { options, ...(await scenario.judge(world, seen)) };
    } finally {
      await endWorld();
    }
  };

  const render = (requested: object, rounds: readonly Round<OptionsOf<Specs>, Figures>[]): string => {
    const violations = rounds.flatMap(({ violations: found, options }) =>
      found.map((sentence) =>
        rounds.length > 1 && 'seed' in options ? `seed ${options.seed}: ${sentence}` : sentence,
      ),
    );
    const counts = rounds.flatMap((round) => (round.counts === undefined ? [] : [round.counts]));
    const tables = [...scenario.report(rounds), ...(counts.length === 0 ? [] : [countTable('Requests', counts)])];
    return renderReport({ title, command: commandOf(name, requested), about, tables, violations });
  };

  const run = async (args: readonly string[]): Promise<number> => {
    let requested: OptionsOf<Specs>;
    try {
      requested = parseOptions(scenario.options, args);
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
      return EXIT_WRONG_ARGUMENTS;
    }
    // A verification starts its own servers.
    for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        log(`${signal}: stopping`);
        void endWorld().then(() => process.exit(1));
      });
    const rounds: Round<OptionsOf<Specs>, Figures>[] = [];
    for (const changes of scenario.rounds?.(requested) ?? [{}]) {
      const round = await play({ ...requested, ...changes });
      rounds.push(round);
      for (const violation of round.violations) log(violation);
      if (round.counterExample) process.stdout.write(`\nThe smallest counterexample: ${round.counterExample}\n`);
      writeFileSync(new URL(`${name}.md`, RESULTS), render(requested, rounds));
      if (round.violations.length > 0) break;
    }
    process.stdout.write(`\n${render(requested, rounds)}`);
    return rounds.every(({ violations }) => violations.length === 0) ? 0 : 1;
  };
  return { name, run };
}

/** Stops the current system. */
let endWorld: () => Promise<unknown> = () => Promise.resolve();

function log(line: string): void {
  process.stdout.write(`${process.uptime().toFixed(1).padStart(6)} s  ${line}\n`);
}

function commandOf(name: string, options: object): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return [`npm run verify:faults -- ${name}`, ...given.map((pair) => `--${pair.join(' ')}`)].join(' ');
}

/** @throws Error if an option is unknown or invalid */
export function parseOptions<Specs extends OptionSpecs>(specs: Specs, args: readonly string[]): OptionsOf<Specs> {
  const options = Object.fromEntries(Object.keys(specs).map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  const given = Object.entries(specs).map(([name, spec]) => {
    const text = values[name] as string | undefined;
    if (typeof spec === 'function') {
      if (text !== undefined) spec(text);
      return [name, text];
    }
    const value = Number(text ?? spec.or);
    if (Number.isInteger(value) && value >= spec.min && value <= spec.max) return [name, value];
    throw new Error(`--${name} must be an integer from ${spec.min} to ${spec.max}`);
  });
  return Object.fromEntries(given) as OptionsOf<Specs>;
}
