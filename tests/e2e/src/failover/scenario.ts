import type { ScriptStep } from '@gateway/provider-simulator';
import type { FailoverFormat } from './formats.js';

/** One of a model's two sources: `a` is preferred, `b` is the other. */
export type SourceName = 'a' | 'b';

/** What a source does with one call: it serves it, cannot be connected to, or plays these steps. */
export type Act = 'serves' | 'is away' | ((played: Played) => readonly ScriptStep[]);

/** A scripted source waits for this release until its client has read something. */
export const FIRST_SEEN = 'first seen';

/** Where an act is played. */
export interface Played {
  readonly format: FailoverFormat;
  /** The name under which the source knows the model. */
  readonly upstreamModel: string;
}

/**
 * What a client sees: the whole answer; an error instead of one; or a begun stream that ends with
 * an error. `said`: the code of the provider, where the format relays it.
 */
export type ClientSees =
  | { readonly kind: 'whole' }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly retryAfter?: string }
  | { readonly kind: 'broken_off'; readonly code: string; readonly said?: true };

/** One call, and what must come of it. */
export interface ExpectedCall {
  readonly a: Act;
  readonly b: Act;
  readonly client: ClientSees;
  /** Sources that were asked, in order; twice: on a fresh connection. */
  readonly asked: readonly SourceName[];
  /** Whose usage is charged; null: nothing is. */
  readonly charged: SourceName | null;
  /** Milliseconds after the call before it. */
  readonly afterMs?: number;
}

/** What `GET /sources/health` tells of a source after the last call. */
export interface ExpectedHealth {
  readonly state: 'healthy' | 'cooling' | 'open';
  readonly failuresInARow: number;
  readonly lastOutcome: string;
  /** How long it rests; null: it does not. */
  readonly restMs: number | null;
}

/** A way in which sources fail, and what must follow (docs/behaviour.md#failover). */
export interface Scenario {
  readonly name: string;
  /** Of a source that stalls, milliseconds. The other keeps the usual ones, so that it answers. */
  readonly limits?: Partial<
    Record<SourceName, { readonly headersTimeoutMs?: number; readonly silenceTimeoutMs?: number }>
  >;
  /** Null: such a call cannot meet it. */
  readonly plain: readonly ExpectedCall[] | null;
  readonly streamed: readonly ExpectedCall[] | null;
  /** Of `a`, which every scenario asks. */
  readonly health: ExpectedHealth;
  /** It waits for a breaker: the short run leaves it out. */
  readonly isLong?: true;
}

/** Tokens that each source reports, and the charge of that at `PRICES`, in nano-USD. */
export const USAGE = {
  a: { input: 1_000, output: 200 },
  b: { input: 1_000, output: 300 },
} as const;
export const CHARGE_NANO_USD = {
  // 1,000 x 3,000 + 200 x 15,000 + 1,000 for the call.
  a: 6_001_000n,
  // 1,000 x 3,000 + 300 x 15,000 + 1,000 for the call.
  b: 7_501_000n,
} as const;
