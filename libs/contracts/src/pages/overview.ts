import { z } from 'zod';
import { WINDOW_TYPES, WINDOW_UNITS } from '../messages/call.js';
import { accountView } from '../operator/accounts.js';
import { objectId, instant, time } from '../operator/scalars.js';

/** A limit or a use in its unit: a decimal string of USD, or a whole number of requests. */
const amount = z.union([z.string(), z.int()]);

export const overviewWindow = z.object({
  type: z.enum(WINDOW_TYPES),
  label: z.string(),
  unit: z.enum(WINDOW_UNITS),
  limit: amount,
  used: amount,
  /** 0 to 100, rounded down. */
  percent: z.int().min(0).max(100),
  /** Null: it begins with the next call. */
  resetsAt: time.nullable(),
});
export type OverviewWindow = z.infer<typeof overviewWindow>;

/**
 * GET /api/accounts/{id}/overview. Uses are settled numbers of the state that decides, without
 * running calls.
 */
export const overviewView = z.object({
  account: accountView,
  plan: z
    .object({
      id: objectId,
      name: z.string(),
      tier: z.string(),
      periodStart: time,
      periodEnd: time,
      renews: z.boolean(),
    })
    .nullable(),
  /** Null while the state that decides cannot be read, as for a suspended account. */
  limits: z.object({ requestsPerMinute: z.int(), concurrency: z.int() }).nullable(),
  windows: z.array(overviewWindow),
  allotments: z.array(z.object({ modelId: z.string(), unit: z.enum(WINDOW_UNITS), limit: amount, used: amount })),
  /** Balance null: no entry yet. */
  wallet: z.object({ balanceUsd: z.string().nullable(), heldUsd: z.string() }),
  /** What the account owes: "0", or positive while its wallet is below zero. */
  debtUsd: z.string(),
});
export type OverviewView = z.infer<typeof overviewView>;

export const SERIES_GROUPS = ['none', 'model', 'key', 'member'] as const;
/** Longest span of a series by day, in days. */
export const SERIES_DAYS_MAX = 400;
/** Longest span of a series by hour, and of refusals, in days. */
export const HOURLY_DAYS_MAX = 35;

export const usageSeriesQuery = z.object({
  from: time,
  to: time,
  by: z.enum(['day', 'hour']).default('day'),
  groupBy: z.enum(SERIES_GROUPS).default('none'),
});
export type UsageSeriesQuery = z.input<typeof usageSeriesQuery>;

/** What was used in one UTC day or hour; hours and days without calls are left out. */
export const usageSeriesPoint = z.object({
  start: time,
  /** Null with groupBy=none. Groups beyond the largest 20 are together in the group `other`. */
  group: z.object({ id: z.string(), label: z.string() }).nullable(),
  calls: z.int(),
  inputTokens: z.int(),
  cachedInputTokens: z.int(),
  cacheWriteTokens: z.int(),
  /** Written for an hour. */
  cacheWrite1hTokens: z.int(),
  outputTokens: z.int(),
  chargedUsd: z.string(),
  planUsd: z.string(),
  walletUsd: z.string(),
});
export type UsageSeriesPoint = z.infer<typeof usageSeriesPoint>;
export const usageSeries = z.object({
  data: z.array(usageSeriesPoint),
  /**
   * Calls of the whole span that are not billed, by outcome, and in no point; null: it cannot be
   * said now.
   */
  unbilled: z.object({ voided: z.int(), expired: z.int() }).nullable(),
});
export type UsageSeries = z.infer<typeof usageSeries>;

export const refusalsQuery = z.object({ from: instant, to: instant });

/** Calls of one UTC hour that were refused with one code. */
export const refusalsPoint = z.object({
  start: time,
  code: z.string(),
  count: z.int(),
  /** The minute of the last of them. */
  lastAt: time,
  /** The last of them, at most five. */
  lastRequestIds: z.array(z.string()),
});
export type RefusalsPoint = z.infer<typeof refusalsPoint>;
export const refusals = z.object({
  /** Newest first. */
  data: z.array(refusalsPoint),
  /** Of the whole span, the largest first. */
  totals: z.array(z.object({ code: z.string(), count: z.int() })),
  /** Older hours of the span are left out of `data`. */
  more: z.boolean(),
});
export type Refusals = z.infer<typeof refusals>;
