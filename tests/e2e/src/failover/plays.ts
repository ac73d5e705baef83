import type { FailoverFormat } from './formats.js';
import type { ExpectedCall, Scenario } from './scenario.js';

/** A scenario in one format, plain or streamed. */
export interface Play {
  readonly scenario: Scenario;
  readonly format: FailoverFormat;
  readonly streamed: boolean;
  readonly calls: readonly ExpectedCall[];
}

/** Every play of these scenarios in these formats. */
export function playsOf(scenarios: readonly Scenario[], formats: readonly FailoverFormat[]): Play[] {
  return formats.flatMap((format) =>
    scenarios.flatMap((scenario) =>
      [false, true].flatMap((streamed) => {
        const calls = streamed ? scenario.streamed : scenario.plain;
        return calls === null ? [] : [{ scenario, format, streamed, calls }];
      }),
    ),
  );
}
