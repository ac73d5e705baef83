import { z } from 'zod';
import { WINDOW_TYPES, WINDOW_UNITS } from '../messages/call.js';
import { unbilledCalls } from '../messages/insights.js';
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
  /** Null: the window begins with the next call. */
  resetsAt: time.nullable(),
});

/** GET /api/accounts/{id}/overview. Usage comes from the limit store, without running calls. */
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
  /** Null if the limit store cannot be read, or the account is suspended. */
  limits: z.object({ requestsPerMinute: z.int(), concurrency: z.int() }).nullable(),
  windows: z.array(overviewWindow),
  allotments: z.array(z.object({ modelId: z.string(), unit: z.enum(WINDOW_UNITS), limit: amount, used: amount })),
  /** A null balance: the wallet has no entry yet. */
  wallet: z.object({ balanceUsd: z.string().nullable(), heldUsd: z.string() }),
  /** The account's debt: "0", or positive if its wallet is below zero. */
  debtUsd: z.string(),
});
export type OverviewView = z.infer<typeof overviewView>;

export const SERIES_GROUPS = ['none', 'model', 'key', 'member'] as const;
/** Maximum length of a daily series, in days. */
export const SERIES_DAYS_MAX = 400;
/** Maximum length of an hourly series and of refusals, in days. */
export const HOURLY_DAYS_MAX = 35;

export const usageSeriesQuery = z.object({
  from: time,
  to: time,
  by: z.enum(['day', 'hour']).default('day'),
  groupBy: z.enum(SERIES_GROUPS).default('none'),
});

/** Usage of one UTC day or hour. Hours and days without calls are omitted. */
export const usageSeriesPoint = z.object({
  start: time,
  /** Null with groupBy=none. All groups after the largest 20 are combined in the group `other`. */
  group: z.object({ id: z.string(), label: z.string() }).nullable(),
  calls: z.int(),
  inputTokens: z.int(),
  cachedInputTokens: z.int(),
  cacheWriteTokens: z.int(),
  /** Cache writes kept for one hour. */
  cacheWrite1hTokens: z.int(),
  outputTokens: z.int(),
  chargedUsd: z.string(),
  planUsd: z.string(),
  walletUsd: z.string(),
});
export type UsageSeriesPoint = z.infer<typeof usageSeriesPoint>;
export const usageSeries = z.object({
  data: z.array(usageSeriesPoint),
  /** Calls of the whole span that are not billed, by outcome. No point counts them. */
  unbilled: unbilledCalls,
});
export type UsageSeries = z.infer<typeof usageSeries>;

export const refusalsQuery = z.object({ from: instant, to: instant });

/** Calls of one UTC hour that were refused with one code. */
export const refusalsPoint = z.object({
  start: time,
  code: z.string(),
  count: z.int(),
  /** The minute of the last refused call. */
  lastAt: time,
  /** The last refused calls, at most five. */
  lastRequestIds: z.array(z.string()),
});
export type RefusalsPoint = z.infer<typeof refusalsPoint>;
export const refusals = z.object({
  /** Newest first. */
  data: z.array(refusalsPoint),
  /** Counts of the whole span, largest first. */
  totals: z.array(z.object({ code: z.string(), count: z.int() })),
  /** Whether older hours of the span are omitted from `data`. */
  more: z.boolean(),
});
export type Refusals = z.infer<typeof refusals>;
