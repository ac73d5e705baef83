import {
  type AttemptRecord,
  DIRECT_COLUMNS,
  type DirectColumn,
  type ServedClassUnits,
  type UsageEvent,
} from '@gateway/contracts/messages';
import type { NanoUsd, TokenUsage, WindowType, WindowUnit } from '@gateway/metering';

export interface AttemptOutcome extends Omit<AttemptRecord, 'cost'> {
  readonly costVersion: string | null;
  readonly costNanoUsd: NanoUsd | null;
}

/**
 * The stored form of a sampling: `input`, `cachedInput`, `cacheWrite`, `cacheWrite1h`, `output`. If
 * it has tokens other than text, also `audioInput`, `imageInput`, `audioOutput`, `imageOutput`.
 */
export type StoredCounts = number[];

/** The columns that a record copies from its event. Null: the event does not have the field. */
export type DirectValues = {
  readonly [Name in DirectColumn]:
    | Exclude<UsageEvent[Name], undefined>
    | (undefined extends UsageEvent[Name] ? null : never);
};

/** Picks the direct columns from an event or a row; an absent field becomes null. */
export function pickDirectValues(from: { readonly [Name in DirectColumn]?: unknown }): DirectValues {
  const values: Partial<Record<DirectColumn, unknown>> = {};
  for (const { name } of DIRECT_COLUMNS) values[name] = from[name] ?? null;
  return values as DirectValues;
}

/** The ledger's usage record of one request ID. Times are epoch milliseconds. */
export interface UsageRecord extends DirectValues {
  readonly id: string;
  readonly rank: number;
  /** The first 16 bytes of the event's hash, in hexadecimal. */
  readonly contentHash: string;
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
  readonly source: string | null;
  readonly outcome: UsageEvent['outcome'];
  readonly evidence: UsageEvent['evidence'];
  readonly startedAt: number;
  readonly firstByteAt: number | null;
  readonly endedAt: number;
  readonly usage: TokenUsage | null;
  /** Class and units that were billed in addition to `usage`; null: standard class, no units. */
  readonly served: ServedClassUnits | null;
  readonly priceVersion: string | null;
  /** `plan` and `wallet` add up to `charged`. */
  readonly chargedNanoUsd: NanoUsd;
  readonly planNanoUsd: NanoUsd;
  readonly walletNanoUsd: NanoUsd;
  /** Null if no attempt has a known cost. */
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
