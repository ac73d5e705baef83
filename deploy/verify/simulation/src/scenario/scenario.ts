/** How one try of a source goes. Times in milliseconds after the request. */
export type ProviderPlan =
  | {
      readonly kind: 'answer';
      readonly delayMs: number;
      readonly gapMs: number;
      readonly chunks: number;
      /** Tokens as the provider counts them; null: it tells none. */
      readonly usage: { readonly input: number; readonly output: number } | null;
      /** Pieces after which it breaks off, or says nothing more; null: it ends as it should. */
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
  /** One per try of a source. */
  readonly provider: readonly ProviderPlan[];
  /** Null: the client reads to the end. */
  readonly leavesAfterMs: number | null;
}

/** What people and clients do. `at` in milliseconds after the start. */
export type Act =
  | CallAct
  /** A client that makes its next call the moment it has the end of its answer. */
  | { readonly kind: 'series'; readonly at: number; readonly calls: readonly CallAct[] }
  | { readonly kind: 'wallet'; readonly at: number; readonly account: number; readonly amountNanoUsd: number }
  | { readonly kind: 'take_slot'; readonly at: number; readonly nth: number }
  | { readonly kind: 'state'; readonly at: number; readonly account: number; readonly state: 'active' | 'suspended' }
  | { readonly kind: 'rotate'; readonly at: number; readonly account: number; readonly key: number }
  | { readonly kind: 'terms'; readonly at: number; readonly account: number; readonly plan: number | null };

export type LimitStoreLoss = 'flush' | 'restart_empty' | 'restart_old';
/** What the promoted copy of the limit store has: all, or what its last file had. */
export type PromotedCopy = 'as_it_is' | 'late';

/**
 * A copy of the limit store is promoted; one replica of admission goes on with the superseded one
 * for so long. Misled, it finds that one too whenever it connects.
 */
export interface Failover {
  readonly kind: 'failover';
  readonly how: PromotedCopy;
  readonly at: number;
  readonly ms: number;
  readonly misleads?: boolean;
  /** Then the superseded one loses all that it has. */
  readonly forgetsAfterMs?: number;
}

/**
 * Steps between which money is lost if their order is wrong: an edge sends a usage event, and hears
 * that it is stored; billing commits, and hears that it has.
 */
export const STEPS = ['sends', 'stored', 'commits', 'committed'] as const;
export type Step = (typeof STEPS)[number];

/** What goes wrong. A run is shrunk by leaving some of it out. */
export type Fault =
  | {
      /** The nth message of the run. */
      readonly kind: 'message';
      readonly n: number;
      readonly how: 'drop' | 'double' | 'delay';
      readonly ms: number;
    }
  /**
   * The nth message's sender dies when it has sent it, or its receiver before or after it has taken
   * it.
   */
  | {
      readonly kind: 'kill';
      readonly n: number;
      readonly who: 'sender' | 'receiver_before' | 'receiver_after';
      readonly ms: number;
    }
  /** Whoever is about to take the nth such step of the run never does, and dies soon after. */
  | {
      readonly kind: 'step-killed';
      readonly step: Step;
      readonly n: number;
      readonly afterMs: number;
      readonly ms: number;
    }
  | { readonly kind: 'cut' | 'hang'; readonly host: string; readonly at: number; readonly ms: number }
  /** An edge is killed; another one starts in its place after so long. */
  | { readonly kind: 'edge-killed'; readonly host: string; readonly at: number; readonly ms: number }
  /** All replicas of admission are killed; others start after so long. */
  | { readonly kind: 'away'; readonly at: number; readonly ms: number }
  | Failover
  | { readonly kind: 'limit-store'; readonly how: LimitStoreLoss; readonly at: number; readonly ms: number }
  /** The nth database transaction fails before, or only seems to fail after its commit. */
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
  /** Nano-USD in the wallet at the start. */
  readonly walletNanoUsd: number;
  readonly plan: number | null;
  /** Of its first key, nano-USD a month; null: none. */
  readonly capNanoUsd: number | null;
}

/** Everything that a run depends on. The same scenario gives the same run. */
export interface Scenario {
  readonly seed: number;
  readonly startMs: number;
  readonly accounts: readonly AccountSeed[];
  readonly plans: readonly PlanSeed[];
  /** Both workers of billing work on every subject of the stream at once. */
  readonly sharedSubjects: boolean;
  /** How far wall clocks are ahead, by the name of the host. */
  readonly skewsMs: Readonly<Record<string, number>>;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
  /** When the last act has happened and faults end. */
  readonly quietAt: number;
  /** Replicas of admission and edges; two of each where it does not say. */
  readonly hosts?: { readonly admissions: number; readonly edges: number };
}
