/** A response of a source. Times are in milliseconds after the request. */
export interface AnswerPlan {
  readonly kind: 'answer';
  readonly delayMs: number;
  readonly gapMs: number;
  readonly chunks: number;
  /** Tokens that the provider reports, or null if it reports none. */
  readonly usage: { readonly input: number; readonly output: number } | null;
  /** Chunks after which the response breaks off or stalls, or null if it is complete. */
  readonly breaksAfter: { readonly chunks: number; readonly how: 'cut' | 'stall' } | null;
}

/** The course of one attempt at a source. */
export type ProviderPlan =
  | AnswerPlan
  | { readonly kind: 'status'; readonly delayMs: number; readonly status: number }
  | { readonly kind: 'unreachable'; readonly delayMs: number };

/** One call of a client. */
export interface CallAct {
  readonly kind: 'call';
  readonly at: number;
  readonly account: number;
  readonly key: number;
  readonly edge: number;
  readonly model: number;
  readonly streamed: boolean;
  readonly outputTokensMax: number;
  /** One plan per attempt. */
  readonly provider: readonly ProviderPlan[];
  /** Null: the client reads to the end. */
  readonly leavesAfterMs: number | null;
}

/** An action of an operator or a client. `at` is in milliseconds after the start. */
export type Act =
  | CallAct
  /** A client that makes its next call when the response before it has ended. */
  | { readonly kind: 'series'; readonly at: number; readonly calls: readonly CallAct[] }
  | { readonly kind: 'wallet'; readonly at: number; readonly account: number; readonly amountNanoUsd: number }
  | { readonly kind: 'take_slot'; readonly at: number; readonly nth: number }
  | { readonly kind: 'state'; readonly at: number; readonly account: number; readonly state: 'active' | 'suspended' }
  | { readonly kind: 'rotate'; readonly at: number; readonly account: number; readonly key: number }
  | { readonly kind: 'terms'; readonly at: number; readonly account: number; readonly plan: number | null };

/**
 * Steps between which a wrong order loses money: an edge sends a usage event and learns that it is
 * stored. Billing commits and learns that it has committed.
 */
export const STEPS = ['sends', 'stored', 'commits', 'committed'] as const;
export type Step = (typeof STEPS)[number];

/** The faults by kind. `at` is in milliseconds after the start. */
interface Faults {
  /** The nth message of the run. */
  message: { n: number; how: 'drop' | 'double' | 'delay'; ms: number };
  /** The nth message's sender dies after sending, or its receiver before or after receiving. */
  kill: { n: number; who: 'sender' | 'receiver_before' | 'receiver_after'; ms: number };
  /** The process that is about to take the nth such step does not take it and dies soon after. */
  'step-killed': { step: Step; n: number; afterMs: number; ms: number };
  cut: { host: string; at: number; ms: number };
  hang: { host: string; at: number; ms: number };
  /** An edge is killed. Another one starts in its place after `ms`. */
  'edge-killed': { host: string; at: number; ms: number };
  /** All replicas of admission are killed. Others start after `ms`. */
  away: { at: number; ms: number };
  'limit-store': { how: 'flush' | 'restart_empty' | 'restart_old'; at: number; ms: number };
  /**
   * A copy of the limit store is promoted: all data, or the server's last file. One replica of
   * admission uses the superseded one for `ms`, and with `misleads` again whenever it connects.
   * After `forgetsAfterMs`, the superseded limit store loses all its data.
   */
  failover: { how: 'as_it_is' | 'late'; at: number; ms: number; misleads?: boolean; forgetsAfterMs?: number };
  /** The nth database transaction fails, or it commits and appears to fail. */
  database: { n: number; how: 'before' | 'after' };
  /** A standby that lacks the last commits of usage becomes the ledger. */
  promotion: { at: number; commits: number };
}

/** A fault. Shrinking leaves some of a run's faults out. */
export type Fault = { [Kind in keyof Faults]: Readonly<{ kind: Kind } & Faults[Kind]> }[keyof Faults];
export type FaultOf<Kind extends Fault['kind']> = Extract<Fault, { readonly kind: Kind }>;

export interface PlanSeed {
  readonly concurrency: number;
  readonly windowUsdNanoUsd: number;
  readonly windowRequests: number;
}

export interface AccountSeed {
  readonly name: string;
  /** Wallet at the start, nano-USD. */
  readonly walletNanoUsd: number;
  readonly plan: number | null;
  /** Monthly cap of its first key in nano-USD, or null. */
  readonly capNanoUsd: number | null;
}

/** All input of a run. The same scenario gives the same run. */
export interface Scenario {
  readonly seed: number;
  readonly startMs: number;
  readonly accounts: readonly AccountSeed[];
  readonly plans: readonly PlanSeed[];
  /** Whether both billing workers consume every subject of the stream concurrently. */
  readonly sharedSubjects: boolean;
  /** How far each host's wall clock is ahead, by host name. */
  readonly skewsMs: Readonly<Record<string, number>>;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
  /** Time when the last act has happened and faults end. */
  readonly quietAt: number;
}
