import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderReport } from './render-report.js';
import type { Judgement, NextRound, OptionSpecs, OptionsOf, Round, RunnableScenario, Scenario } from './scenario.js';

/** Relative to `dist/src/runner`. Ignored by git. */
const RESULTS = new URL('../../../../../.results/', import.meta.url);
const EXIT_WRONG_ARGUMENTS = 2;

/** Hides the types of a scenario, so that all scenarios fit into one list. */
export function runnable<
  Specs extends OptionSpecs,
  World extends { end(): Promise<unknown> },
  Load extends { stop(): Promise<unknown> },
  Seen,
  Figures,
>(scenario: Scenario<Specs, World, Load, Seen, Figures>): RunnableScenario {
  const { name, title, about } = scenario;

  /** Plays one round on a new system, which is stopped in any case. */
  const play = async (options: OptionsOf<Specs>, log: (line: string) => void): Promise<Judgement<Figures>> => {
    const world = await scenario.start(scenario.topology, options);
    let ending: Promise<unknown> | undefined;
    const end = (): Promise<unknown> => (ending ??= world.end());
    stopOnSignal(end);
    try {
      const load = (await scenario.load?.(world, options)) as Load;
      const seen = await scenario.fault(world, { load, options, log }).finally(() => load?.stop());
      log('all requests have ended; checking');
      return await scenario.judge(world, seen, load);
    } finally {
      await end();
    }
  };

  const render = (rounds: readonly Round<OptionsOf<Specs>, Figures>[]): string => {
    const violations = rounds.flatMap(({ violations: found, options }) =>
      found.map((sentence) =>
        rounds.length > 1 && 'seed' in options ? `seed ${options.seed}: ${sentence}` : sentence,
      ),
    );
    const command = commandOf(name, { ...rounds[0]?.requested });
    return renderReport({ title, command, about, tables: scenario.report(rounds), violations });
  };

  /**
   * Plays the rounds that are due until one has a violation. After each round the results and the
   * report are written to `.results`.
   */
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
    const log = startLog();
    const rounds: Round<OptionsOf<Specs>, Figures>[] = [];
    for (let due = dueOptions(scenario.nextRound, requested, rounds); due !== null;) {
      log(`round ${rounds.length + 1}: ${commandOf(name, due)}`);
      const { violations, figures, counterExample = null } = await play(due, log);
      for (const violation of violations) log(violation);
      if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
      rounds.push({ requested, options: due, violations, figures });
      writeFileSync(new URL(`${name}.jsonl`, RESULTS), rounds.map((round) => `${JSON.stringify(round)}\n`).join(''));
      writeFileSync(new URL(`${name}.md`, RESULTS), render(rounds));
      due = violations.length > 0 ? null : dueOptions(scenario.nextRound, requested, rounds);
    }
    process.stdout.write(`\n${render(rounds)}`);
    return rounds.every(({ violations }) => violations.length === 0) ? 0 : 1;
  };
  return { name, run };
}

/** Returns the options of the next round, or null if the run is complete. */
export function dueOptions<Options>(
  next: NextRound<Options> | undefined,
  requested: Options,
  done: readonly Pick<Round<Options, unknown>, 'options'>[],
): Options | null {
  if (next === undefined) return done.length === 0 ? requested : null;
  const changes = next(requested, done);
  return changes === null ? null : { ...requested, ...changes };
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

function startLog(): (line: string) => void {
  const startedAt = performance.now();
  return (line) => {
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  };
}

let stopStarted: (() => Promise<unknown>) | null = null;

/** On SIGINT and SIGTERM, calls the last `stop` before the process exits. */
function stopOnSignal(stop: () => Promise<unknown>): void {
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
