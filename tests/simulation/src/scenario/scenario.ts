/** The course of one attempt at a source. Times are in milliseconds after the request. */
export type ProviderPlan =
  | {
      readonly kind: 'answer';
      readonly delayMs: number;
      readonly gapMs: number;
      readonly chunks: number;
      /** Tokens that the provider reports, or null if it reports none. */
      readonly usage: { readonly input: number; readonly output: number } | null;
      /** Chunks after which the response breaks off or stalls, or null if it is complete. */
      readonly breaksAfter: { readonly chunks: number; readonly how: 'cut' | 'stall' } | null;
    }
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

export type LimitStoreLoss = 'flush' | 'restart_empty' | 'restart_old';
/** Data of the promoted copy of the limit store: all, or the server's last file. */
export type PromotedCopy = 'as_it_is' | 'late';

/**
 * A copy of the limit store is promoted. One replica of admission uses the superseded one for `ms`,
 * and with `misleads` again whenever it connects.
 */
export interface Failover {
  readonly kind: 'failover';
  readonly how: PromotedCopy;
  readonly at: number;
  readonly ms: number;
  readonly misleads?: boolean;
  /** Time after which the superseded limit store loses all its data. */
  readonly forgetsAfterMs?: number;
}

/**
 * Steps between which a wrong order loses money: an edge sends a usage event and learns that it is
 * stored. Billing commits and learns that it has committed.
 */
export const STEPS = ['sends', 'stored', 'commits', 'committed'] as const;
export type Step = (typeof STEPS)[number];

/** A fault. Shrinking leaves some of a run's faults out. */
export type Fault =
  | {
      /** The nth message of the run. */
      readonly kind: 'message';
      readonly n: number;
      readonly how: 'drop' | 'double' | 'delay';
      readonly ms: number;
    }
  /** The nth message's sender dies after sending, or its receiver before or after receiving. */
  | {
      readonly kind: 'kill';
      readonly n: number;
      readonly who: 'sender' | 'receiver_before' | 'receiver_after';
      readonly ms: number;
    }
  /** The process that is about to take the nth such step does not take it and dies soon after. */
  | {
      readonly kind: 'step-killed';
      readonly step: Step;
      readonly n: number;
      readonly afterMs: number;
      readonly ms: number;
    }
  | { readonly kind: 'cut' | 'hang'; readonly host: string; readonly at: number; readonly ms: number }
  /** An edge is killed. Another one starts in its place after `ms`. */
  | { readonly kind: 'edge-killed'; readonly host: string; readonly at: number; readonly ms: number }
  /** All replicas of admission are killed. Others start after `ms`. */
  | { readonly kind: 'away'; readonly at: number; readonly ms: number }
  | Failover
  | { readonly kind: 'limit-store'; readonly how: LimitStoreLoss; readonly at: number; readonly ms: number }
  /** The nth database transaction fails, or it commits and appears to fail. */
  | { readonly kind: 'database'; readonly n: number; readonly how: 'before' | 'after' }
  /** A standby that lacks the last commits of usage becomes the ledger. */
  | { readonly kind: 'promotion'; readonly at: number; readonly commits: number };

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
  /** Numbers of admission replicas and edges. The default is two of each. */
  readonly hosts?: { readonly admissions: number; readonly edges: number };
}
