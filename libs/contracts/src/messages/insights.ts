import { z } from 'zod';
import { PAGE_LIMIT_MAX, managementRefusal } from '../operator/index.js';
import { managementBy, published, request } from './message.js';
import { count, epochMs, modelId, month, nanoUsd, nanoUsdPositive, objectId, requestId } from './scalars.js';

/** Maximum length of a series: [from, to). */
export const SERIES_MS_MAX = 400 * 24 * 3_600_000;
/** Maximum length of an hourly series, because longer ones have too many points to read. */
export const SERIES_HOURLY_MS_MAX = 35 * 24 * 3_600_000;
/**
 * Maximum number of groups in a series. The groups with the smallest charges are combined as {@link
 * OTHER_GROUP}.
 */
export const SERIES_GROUPS_MAX = 20;
/** Maximum rows of a series, to fit into one bus message. Long series list fewer groups. */
export const SERIES_ROWS_MAX = 4_000;
/** The group of all calls whose group has no row. */
export const OTHER_GROUP = 'other';

const management = managementBy('billing');

export const unbilledCalls = z.object({
  /** Calls that failed, or that the client aborted before there was anything to charge. */
  voided: count,
  /** Calls whose edge stopped without a usage record. */
  expired: count,
});

/**
 * Returns the settled usage of an account per UTC day or hour of admission. A time without calls
 * has no row. Rows are sorted by start, then by charge with the largest first. Bounds are extended
 * to whole hours.
 */
export const billingUsageSeries = request({
  ...management,
  name: 'billing.usage-series',
  body: z.object({
    account: objectId,
    from: epochMs,
    to: epochMs,
    by: z.enum(['day', 'hour']),
    groupBy: z.enum(['none', 'model', 'key', 'member']),
    key: objectId.optional(),
    model: modelId.optional(),
    member: objectId.optional(),
  }),
  answer: z.union([
    z.object({
      rows: z
        .array(
          z.object({
            /** Start of the day or hour. */
            start: epochMs,
            /** Null without `groupBy`. */
            group: z.string().nullable(),
            calls: count,
            /** All input tokens, including those read from or written to a cache. */
            inputTokens: count,
            cachedInputTokens: count,
            cacheWriteTokens: count,
            /** Cache writes kept for one hour. */
            cacheWrite1hTokens: count,
            outputTokens: count,
            /** Equal to `plan` plus `wallet`. */
            chargedNanoUsd: nanoUsd,
            planNanoUsd: nanoUsd,
            walletNanoUsd: nanoUsd,
          }),
        )
        .max(SERIES_ROWS_MAX),
      /** Calls of the whole span that are not billed. No row counts them. */
      unbilled: unbilledCalls,
    }),
    managementRefusal,
  ]),
});

/**
 * Returns the charges of keys in a calendar month, as their caps count them. A key without a charge
 * has no row.
 */
export const billingKeyMonths = request({
  ...management,
  name: 'billing.key-months',
  body: z.object({ account: objectId, month, keys: z.array(objectId).min(1).max(PAGE_LIMIT_MAX) }),
  answer: z.object({ rows: z.array(z.object({ key: objectId, chargedNanoUsd: nanoUsdPositive })) }),
});

/** Maximum number of rows in one message. */
export const REFUSED_ROWS_MAX = 500;
/** Maximum number of IDs in a row: the newest ones. */
export const REFUSED_IDS_MAX = 5;
/** Retention of refused calls. */
export const REFUSED_KEPT_MS = 35 * 24 * 3_600_000;
/** Maximum number of rows in one response, so that it fits into one bus message. */
export const REFUSED_SHOWN_MAX = 2_000;

/** A code of the error catalogue. */
const refusalCode = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
const lastIds = z.array(requestId).max(REFUSED_IDS_MAX);

/**
 * Reports calls that a replica of admission refused in one minute since its last report. Billing
 * adds the counts to the stored ones. Sent every few seconds and may be lost, because no decision
 * depends on it.
 */
export const callsRefused = published({
  name: 'calls.refused',
  sentBy: ['admission'],
  servedBy: ['billing'],
  reaches: 'one',
  body: z.object({
    /** The replica that refused the calls. */
    from: z.string().min(1).max(64),
    /** Start of the minute. */
    minute: epochMs,
    rows: z
      .array(
        z.object({
          account: objectId,
          key: objectId.optional(),
          code: refusalCode,
          count: z.int().min(1),
          /** Newest last. */
          lastIds,
        }),
      )
      .min(1)
      .max(REFUSED_ROWS_MAX),
  }),
});

const refusedRow = z.object({
  minute: epochMs,
  code: refusalCode,
  key: objectId.nullable(),
  count,
  /** Newest last. */
  lastIds,
});

/** Lists the refused calls of the minutes in [from, to), newest first, within their retention. */
export const billingRefusedCalls = request({
  ...management,
  name: 'billing.refused-calls',
  body: z.object({ account: objectId, from: epochMs, to: epochMs, key: objectId.optional() }),
  answer: z.union([
    z.object({
      rows: z.array(refusedRow).max(REFUSED_SHOWN_MAX),
      /** Whether older rows exist. Request them with a lower `to`. */
      more: z.boolean(),
      /** Counts of all rows in [from, to), largest first. */
      totals: z.array(z.object({ code: refusalCode, count })),
    }),
    managementRefusal,
  ]),
});

/** Finds a refused call by its ID, if it is one of the last IDs stored for its minute. */
export const billingRefusedCall = request({
  ...management,
  name: 'billing.refused-call',
  body: z.object({ requestId }),
  answer: z.union([z.object({ account: objectId, row: refusedRow }), managementRefusal]),
});
