import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { renderReport } from './render-report.js';
import type { Judgement, OptionSpecs, OptionsOf, Round, RoundPlan, RunnableScenario, Scenario } from './scenario.js';

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
    let parsed: CommandOptions<Specs>;
    try {
      parsed = parseOptions(scenario.options, args);
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
      return EXIT_WRONG_ARGUMENTS;
    }
    const { isNew, options: requested } = parsed;
    // A verification starts its own servers.
    for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
    const log = startLog();
    const file = new URL(`${name}.jsonl`, RESULTS);
    const rounds = isNew
      ? []
      : [...continuedRounds(scenario.rounds, readRounds<Round<OptionsOf<Specs>, Figures>>(file), requested)];
    for (let due = dueOptions(scenario.rounds, requested, rounds); due !== null;) {
      log(`round ${rounds.length + 1}: ${commandOf(name, due)}`);
      const { violations, figures, counterExample = null } = await play(due, log);
      for (const violation of violations) log(violation);
      if (counterExample !== null) process.stdout.write(`\nThe smallest counterexample: ${counterExample}\n`);
      rounds.push({ requested, options: due, violations, figures });
      writeFileSync(file, rounds.map((round) => `${JSON.stringify(round)}\n`).join(''));
      writeFileSync(new URL(`${name}.md`, RESULTS), render(rounds));
      due = violations.length > 0 ? null : dueOptions(scenario.rounds, requested, rounds);
    }
    process.stdout.write(`\n${render(rounds)}`);
    return rounds.every(({ violations }) => violations.length === 0) ? 0 : 1;
  };
  return { name, run };
}

type Done<Options> = readonly Pick<Round<Options, unknown>, 'requested' | 'options'>[];

/** Returns the options of the next round, or null if the run is complete. */
export function dueOptions<Options>(
  plan: RoundPlan<Options> | undefined,
  requested: Options,
  done: Done<Options>,
): Options | null {
  if (plan === undefined) return done.length === 0 ? requested : null;
  const changes = plan.next(requested, done);
  return changes === null ? null : { ...requested, ...changes };
}

/** Returns the rounds of an earlier run if it is incomplete and has the same options, else none. */
export function continuedRounds<Options, Rounds extends Done<Options>>(
  plan: RoundPlan<Options> | undefined,
  earlier: Rounds,
  requested: Options,
): Rounds | [] {
  const before = earlier[0]?.requested;
  const isSame = plan?.continuedWith.every((name) => before?.[name] === requested[name]) === true;
  return before !== undefined && isSame && dueOptions(plan, requested, earlier) !== null ? earlier : [];
}

function commandOf(name: string, options: object): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return [`npm run verify:faults -- ${name}`, ...given.map((pair) => `--${pair.join(' ')}`)].join(' ');
}

function readRounds<Line>(file: URL): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Line);
}

interface CommandOptions<Specs extends OptionSpecs> {
  /** `--from new`: does not continue an earlier run. */
  readonly isNew: boolean;
  readonly options: OptionsOf<Specs>;
}

/**
 * Parses the options of a scenario, and `--from new|last`.
 *
 * @throws Error if an option is unknown or invalid
 */
export function parseOptions<Specs extends OptionSpecs>(specs: Specs, args: readonly string[]): CommandOptions<Specs> {
  const names = [...Object.keys(specs), 'from'];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false });
  const { from = 'last' } = values;
  if (from !== 'new' && from !== 'last') throw new Error('--from must be new or last (the default)');
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
  return { isNew: from === 'new', options: Object.fromEntries(given) as OptionsOf<Specs> };
}

/** Returns a function that prints a line with the elapsed seconds. */
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
