// The evidence of a run under faults: all logs about its calls as plain data. The checker has no
// other input.
import type { LimitStoreState } from '../../test/limit-store.js';

export type Ending =
  /** Complete by the protocol: the client read the final event or the end of the body. */
  | 'whole'
  | 'refused'
  /** A broken connection or an error event. */
  | 'cut'
  | 'left';

export type ModelOfRun = 'rated' | 'cent' | 'cancelled';

export interface ClientCall {
  /** The number of the call in the run. The provider reports it as output tokens. */
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
  /** The text that the client read: all of it in order, its beginning, or anything else. */
  readonly text: 'all' | 'beginning' | 'other';
  readonly usage: Tokens | null;
  readonly begunAt: number;
  readonly endedAt: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** One attempt that reached the provider. */
export interface ProviderCall {
  readonly n: number;
  readonly source: string;
  /**
   * `whole`: the response was written completely. `failed`: a planned error status. `cut`: a
   * planned break of the connection. `left`: the gateway disconnected.
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

/** Limits of an account in this run; null: no limit. */
export interface Terms {
  readonly account: string;
  readonly creditNanoUsd: bigint;
  readonly slots: number;
  readonly requestsPerMinute: number | null;
  readonly windowRequests: number | null;
  readonly keyCapNanoUsd: bigint | null;
}

export interface AccountState extends Pick<LimitStoreState, 'slots' | 'holds' | 'heldSums'> {
  readonly account: string;
  /** Balance from the operator API, and from the finance view. */
  readonly walletNanoUsd: bigint;
  readonly viewNanoUsd: bigint;
}

export type FaultKind =
  /** SIGKILL for a process or a server. The local system restarts it. */
  | 'kill'
  | 'freeze'
  /** SIGKILL for a server, which the run then starts again. */
  | 'restart'
  | 'flush'
  | 'reset'
  | 'stall'
  | 'delay'
  /** Stops an edge in order while NATS is down, and starts both again. */
  | 'stop without nats';

export interface FaultDone {
  readonly what: FaultKind;
  /** A process (`billing-1`), a server (`nats`) or a link (`admission to redis`). */
  readonly target: string;
  /**
   * Start of the fault, and the time when every edge had served calls that began after its end;
   * epoch milliseconds.
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
  /** How long a slot is kept without a heartbeat of its edge, milliseconds. */
  readonly leaseMs: number;
}

export interface JoinedCall {
  readonly call: ClientCall;
  readonly provider: readonly ProviderCall[];
  readonly records: readonly UsageRecord[];
}
