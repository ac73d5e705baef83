import type { LocalService } from '@gateway/local';
import type { CheckResult } from '../evidence/check-evidence.js';
import type { ReportTable } from './render-report.js';

interface IntegerOption {
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

/** The result of a round. `counts` become a table of the report. */
export interface Judgement<Figures> extends Partial<CheckResult> {
  readonly violations: readonly string[];
  readonly figures: Figures;
}

export interface Round<Options, Figures> extends Judgement<Figures> {
  /** The options of this round. Each round has a new system. */
  readonly options: Options;
}

/** A verification of the whole system. The runner calls the functions in this order. */
export interface Scenario<Specs extends OptionSpecs, World extends { end(): Promise<unknown> }, Seen, Figures> {
  /** Name on the command line and of the result file. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly options: Specs;
  /** Splits a run: returns the options of each round that differ from the command line. */
  rounds?(requested: OptionsOf<Specs>): readonly Partial<OptionsOf<Specs>>[];
  readonly topology: Topology;
  start(topology: Topology, options: OptionsOf<Specs>): Promise<World>;
  /** Sends requests, causes the faults, one after the other, and returns what `judge` needs. */
  fault(world: World, context: { options: OptionsOf<Specs>; log: (line: string) => void }): Promise<Seen>;
  judge(world: World, seen: Seen): Promise<Judgement<Figures>>;
  report(rounds: readonly Round<OptionsOf<Specs>, Figures>[]): readonly ReportTable[];
}
