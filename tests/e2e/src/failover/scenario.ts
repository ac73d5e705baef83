import type { UsageRecordView } from '@gateway/contracts/operator';
import type { ScriptStep } from '@gateway/provider-simulator';
import type { FailoverFormat } from './formats.js';
import type { ReadHealth } from './health-watch.js';

/** The two sources of a model: `a` is preferred. */
export type SourceName = 'a' | 'b';

/**
 * The behaviour of a source for one request: it responds, refuses connections, or plays these
 * steps.
 */
export type SourceBehaviour = 'serves' | 'refuses connections' | ((played: Played) => readonly ScriptStep[]);

/**
 * Semaphore that a scripted source waits for. It is released when the client has received its first
 * chunk.
 */
export const FIRST_SEEN = 'first seen';

export interface Played {
  readonly format: FailoverFormat;
  readonly upstreamModel: string;
}

/**
 * The response that a client receives: a complete one, an error, or a partial stream that ends with
 * an error. `isProviderError`: the error has the provider's code if the format relays it.
 */
export type ExpectedResponse =
  | { readonly kind: 'whole' }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly retryAfter?: string }
  | { readonly kind: 'broken_off'; readonly code: string; readonly isProviderError?: true };

export interface ExpectedCall {
  readonly a: SourceBehaviour;
  readonly b: SourceBehaviour;
  readonly client: ExpectedResponse;
  /**
   * The queried sources in order. A source is listed twice if it gets a second attempt on a new
   * connection.
   */
  readonly queried: readonly SourceName[];
  readonly charged: SourceName | null;
  readonly afterMs?: number;
}

/** The health of a source in `GET /sources/health` after the last request. */
export interface ExpectedHealth {
  readonly state: 'healthy' | 'cooling' | 'open';
  readonly failuresInARow: number;
  readonly lastOutcome: string;
  readonly restMs: number | null;
}

/** A failure of sources and its expected result (docs/behaviour.md#failover). */
export interface Scenario {
  readonly name: string;
  /** Timeouts of a stalling source. The other source keeps the defaults, so that it can respond. */
  readonly limits?: Partial<
    Record<SourceName, { readonly headersTimeoutMs?: number; readonly silenceTimeoutMs?: number }>
  >;
  /** Null if the failure cannot occur in this kind of request. */
  readonly plain: readonly ExpectedCall[] | null;
  readonly streamed: readonly ExpectedCall[] | null;
  /** The health of `a`, which every scenario queries. */
  readonly health: ExpectedHealth;
}

/** The tokens that each source reports, and their charge at `PRICES` in nano-USD. */
export const USAGE = {
  a: { input: 1_000, output: 200 },
  b: { input: 1_000, output: 300 },
} as const;
export const CHARGE_NANO_USD = {
  // 1,000 x 3,000 + 200 x 15,000 + 1,000 per request.
  a: 6_001_000n,
  // 1,000 x 3,000 + 300 x 15,000 + 1,000 per request.
  b: 7_501_000n,
} as const;

export interface SeenAnswer {
  readonly requestId: string;
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
  readonly cut: boolean;
}

export interface SeenCall {
  readonly answer: SeenAnswer;
  /** The queried sources in order, from the usage record. */
  readonly queried: readonly SourceName[];
  /**
   * The sources that received the request, from the providers. They do not see refused connections.
   */
  readonly reached: readonly string[];
  readonly record: UsageRecordView;
  /** Amount in nano-USD from the ledger's entries. Absent until the ledger is read. */
  readonly takenNanoUsd?: bigint;
}

export interface SeenPlay {
  readonly play: Play;
  readonly calls: readonly SeenCall[];
  readonly health: ReadHealth;
}

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
