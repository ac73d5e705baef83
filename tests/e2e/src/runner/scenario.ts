import type { LocalService } from '@gateway/local';
import type { CheckResult } from '../evidence/check-evidence.js';
import type { ReportTable } from './render-report.js';

export interface IntegerOption {
  readonly or: number;
  readonly min: number;
  readonly max: number;
}

/** An integer option, or the check of an optional text, which throws if the text is invalid. */
export type OptionSpecs = Readonly<Record<string, IntegerOption | ((text: string) => unknown)>>;

export type OptionsOf<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends IntegerOption ? number : string | undefined;
};

/** The system under test. Values that are absent are those of `startOwnSystem`. */
export interface Topology {
  readonly replicas?: Partial<Record<LocalService, number>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Variables with the durations of a `FaultRun`. Default: short ones. */
  readonly durations?: Readonly<Record<string, string>>;
  readonly ha?: boolean;
  /** False: services connect to their servers directly, for speed. Default: through proxies. */
  readonly isLinked?: boolean;
  /** Also puts proxies between the servers of a kind, and before Redis. */
  readonly isDivisible?: boolean;
}

export interface Judgement<Figures> extends Partial<CheckResult> {
  readonly violations: readonly string[];
  /** Measured values for the report, which JSON can represent. */
  readonly figures: Figures;
}

/** One round as a line of `.results/<name>.jsonl`. */
export interface Round<Options, Figures> {
  readonly requested: Options;
  /** The options of this round. Each round has a new system. */
  readonly options: Options;
  readonly violations: readonly string[];
  readonly figures: Figures;
}

/** A verification of the whole system. The runner calls the functions in this order. */
export interface Scenario<
  Specs extends OptionSpecs,
  World extends { end(): Promise<unknown> },
  Load extends { stop(): Promise<unknown> },
  Seen,
  Figures,
> {
  /** Name on the command line and of the result files. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly options: Specs;
  readonly topology: Topology;
  start(topology: Topology, options: OptionsOf<Specs>): Promise<World>;
  /** Starts a load, which the runner stops after `fault`. Absent: `fault` sends its requests. */
  load?(world: World, options: OptionsOf<Specs>): Load | Promise<Load>;
  /** Causes the faults, one after the other, and returns what `judge` needs. */
  fault(world: World, context: FaultContext<OptionsOf<Specs>, Load>): Promise<Seen>;
  judge(world: World, seen: Seen, load: Load): Promise<Judgement<Figures>>;
  report(rounds: readonly Round<OptionsOf<Specs>, Figures>[]): readonly ReportTable[];
  /** Splits a run into rounds. Absent: one round. */
  readonly nextRound?: NextRound<OptionsOf<Specs>>;
}

/** Returns the options of the next round that differ from the command line; null: complete. */
export type NextRound<Options> = (
  requested: Options,
  done: readonly Pick<Round<Options, unknown>, 'options'>[],
) => Partial<Options> | null;

export interface FaultContext<Options, Load> {
  readonly load: Load;
  readonly options: Options;
  readonly log: (line: string) => void;
}

/** A scenario without its types: it runs with the arguments of the command line. */
export interface RunnableScenario {
  readonly name: string;
  /** Returns the exit code: 0 without violations, 1 with some, 2 for invalid arguments. */
  run(args: readonly string[]): Promise<number>;
}
