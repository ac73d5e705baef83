// What a run under faults leaves behind: the logs of everybody who saw a call, as plain data. The
// checker reads nothing else.

/** How a call ended for its client. */
export type Ending =
  /** To its end, as far as the protocol shows: the final marker or the end of the body came. */
  | 'whole'
  /** An answer other than 200. */
  | 'refused'
  /** The connection broke, or an error event said so. */
  | 'cut'
  /** The client itself went away. */
  | 'left';

export type ModelOfRun = 'rated' | 'cent' | 'cancelled';

export interface ClientCall {
  /** The number of the call in the run; the provider reports it as output tokens. */
  readonly n: number;
  readonly account: string;
  readonly model: ModelOfRun;
  readonly edge: number;
  readonly client: string;
  readonly streamed: boolean;
  readonly requestId: string | null;
  readonly status: number | null;
  readonly code: string | null;
  readonly ending: Ending;
  /** What was read of the text: all of it in order, its beginning, or something else. */
  readonly text: 'all' | 'beginning' | 'other';
  readonly usage: Tokens | null;
  /** Epoch milliseconds. */
  readonly begunAt: number;
  readonly endedAt: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** One request that reached the provider. */
export interface ProviderCall {
  readonly n: number;
  readonly source: string;
  /**
   * `whole`: everything was written. `failed`: an error status on purpose. `cut`: broken on
   * purpose. `left`: the gateway went away.
   */
  readonly ending: 'whole' | 'failed' | 'cut' | 'left' | 'running';
  readonly usage: Tokens | null;
  readonly begunAt: number;
  readonly endedAt: number | null;
}

export interface UsageRecord {
  readonly requestId: string;
  readonly account: string;
  readonly outcome: 'settled' | 'voided' | 'expired';
  readonly evidence: 'reported' | 'estimated' | 'none';
  readonly streamed: boolean;
  readonly tokens: Tokens | null;
  readonly chargedNanoUsd: bigint;
  readonly planNanoUsd: bigint;
  readonly walletNanoUsd: bigint;
  readonly startedAt: number;
}

export interface LedgerTransaction {
  readonly id: string;
  readonly kind: string;
  readonly account: string;
  readonly requestId: string | null;
  readonly entries: readonly { readonly ledgerAccount: string; readonly amountNanoUsd: bigint }[];
}

/** What binds an account in this run; null: nothing does. */
export interface Terms {
  readonly account: string;
  readonly creditNanoUsd: bigint;
  readonly slots: number;
  readonly requestsPerMinute: number | null;
  /** Of a plan's weekly window in requests. */
  readonly windowRequests: number | null;
  readonly keyCapNanoUsd: bigint | null;
}

/** An account when everything has ended. */
export interface AccountState {
  readonly account: string;
  /** By the operator API, and by the finance view. */
  readonly walletNanoUsd: bigint;
  readonly viewNanoUsd: bigint;
  readonly slots: number;
  readonly holds: number;
  readonly heldSums: readonly string[];
}

export type FaultKind =
  /** SIGKILL: of a process, or of a server; the local start brings either back. */
  | 'kill'
  | 'freeze'
  /** SIGKILL of a server that the run itself starts again. */
  | 'restart'
  | 'flush'
  | 'reset'
  | 'stall'
  | 'delay'
  /** An orderly stop of an edge while NATS is away, and its next start when NATS is back. */
  | 'stop without nats';

export interface FaultDone {
  readonly what: FaultKind;
  /** A process (`billing-1`), a server (`nats`) or a link (`admission to redis`). */
  readonly target: string;
  /**
   * From its beginning until every edge had answered calls that began after it, epoch milliseconds.
   */
  readonly from: number;
  readonly until: number;
}

export interface Evidence {
  readonly calls: readonly ClientCall[];
  readonly provider: readonly ProviderCall[];
  readonly records: readonly UsageRecord[];
  readonly ledger: readonly LedgerTransaction[];
  readonly terms: readonly Terms[];
  readonly accounts: readonly AccountState[];
  readonly faults: readonly FaultDone[];
  /** A slot outlives its edge's silence so long, milliseconds. */
  readonly leaseMs: number;
}

/** Everything that is known of one call. */
export interface JoinedCall {
  readonly call: ClientCall;
  readonly provider: readonly ProviderCall[];
  readonly records: readonly UsageRecord[];
}
