import type { FailoverFormat } from './formats.js';
import type { ExpectedCall, Scenario } from './scenario.js';

/** A scenario in one format, with plain or streamed requests. */
export interface Play {
  readonly scenario: Scenario;
  readonly format: FailoverFormat;
  readonly streamed: boolean;
  readonly calls: readonly ExpectedCall[];
}

/** Returns all plays of these scenarios in these formats. */
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
