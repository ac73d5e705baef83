import type { AttemptRecord, ServedExtras, UsageEvent } from '@gateway/contracts/messages';
import type { NanoUsd, TokenUsage, WindowType, WindowUnit } from '@gateway/metering';

export interface AttemptOutcome extends Omit<AttemptRecord, 'cost'> {
  readonly costVersion: string | null;
  readonly costNanoUsd: NanoUsd | null;
}

/**
 * A sampling in the database: `input`, `cachedInput`, `cacheWrite`, `cacheWrite1h`, `output`; where
 * it has other tokens than text, also `audioInput`, `imageInput`, `audioOutput`, `imageOutput`.
 */
export type StoredCounts = number[];

/** The usage record of one request id, as the ledger keeps it. Times are epoch milliseconds. */
export interface UsageRecord {
  readonly id: string;
  readonly rank: number;
  /** The first 16 bytes of the event's, in hexadecimal. */
  readonly contentHash: string;
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
  readonly source: string | null;
  readonly endpoint: string | null;
  readonly streamed: boolean;
  readonly outcome: UsageEvent['outcome'];
  readonly evidence: UsageEvent['evidence'];
  readonly status: number | null;
  readonly startedAt: number;
  readonly firstByteAt: number | null;
  readonly endedAt: number;
  readonly usage: TokenUsage | null;
  /** What was billed beside `usage`; null: the standard class, nothing by the piece. */
  readonly served: ServedExtras | null;
  /** Names of what was served without a price; null: there are none. */
  readonly unpriced: readonly string[] | null;
  readonly priceVersion: string | null;
  /** `plan` and `wallet` add up to `charged`. */
  readonly chargedNanoUsd: NanoUsd;
  readonly planNanoUsd: NanoUsd;
  readonly walletNanoUsd: NanoUsd;
  /** Null while no attempt's cost is known. */
  readonly costNanoUsd: NanoUsd | null;
  readonly admittedAt: number;
  readonly worstNanoUsd: NanoUsd;
  readonly planMaxNanoUsd: NanoUsd;
  readonly walletMaxNanoUsd: NanoUsd | null;
  readonly month: string;
  readonly session5h: number | null;
  readonly weekly: number | null;
  readonly subscriptionPeriod: string | null;
  readonly windows: readonly { type: WindowType; unit: WindowUnit }[];
  readonly allotment: WindowUnit | null;
  readonly attempts: readonly AttemptOutcome[];
}
