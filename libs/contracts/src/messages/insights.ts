import { z } from 'zod';
import { managementRefusal, PAGE_LIMIT_MAX } from '../operator/index.js';
import { managementBy } from './management.js';
import { published, request } from './message.js';
import { count, epochMs, modelId, month, nanoUsd, nanoUsdPositive, objectId, requestId } from './scalars.js';

/** Longest time that one series covers: [from, to). */
export const SERIES_MS_MAX = 400 * 24 * 3_600_000;
/** By hour, a series covers less: more points than these are read by nobody. */
export const SERIES_HOURLY_MS_MAX = 35 * 24 * 3_600_000;
/**
 * Groups that a series names; the ones that were charged least are joined as {@link OTHER_GROUP}.
 */
export const SERIES_GROUPS_MAX = 20;
/**
 * Rows of one series: what one message of the bus carries. Long series name fewer groups to stay
 * below it.
 */
export const SERIES_ROWS_MAX = 4_000;
/** The group of all calls that belong to none of the groups with a row of their own. */
export const OTHER_GROUP = 'other';

const management = managementBy('billing');

export const unbilledCalls = z.object({
  /** They failed, or were given up before there was anything to pay for. */
  voided: count,
  /** The edge that served them ended without a record. */
  expired: count,
});

/**
 * What an account's settled calls used, by the day or hour (UTC) in which they were admitted, as
 * far as the ledger is settled. Times without a call have no row. Rows are in the order of their
 * starts, within one the largest charge first. Bounds are moved outwards to whole hours.
 */
export const billingUsageSeries = request({
  ...management,
  name: 'billing.usage-series',
  subject: 'billing.usage-series',
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
            /** Of the day or hour. */
            start: epochMs,
            /** Null when nothing is grouped. */
            group: z.string().nullable(),
            calls: count,
            /** All input tokens, those that were read from or written to a cache among them. */
            inputTokens: count,
            cachedInputTokens: count,
            cacheWriteTokens: count,
            /** Written for an hour. */
            cacheWrite1hTokens: count,
            outputTokens: count,
            /** `plan` and `wallet` add up to `charged`. */
            chargedNanoUsd: nanoUsd,
            planNanoUsd: nanoUsd,
            walletNanoUsd: nanoUsd,
          }),
        )
        .max(SERIES_ROWS_MAX),
      /**
       * Calls of the whole span that nobody paid for and no row counts. Billing of before this does
       * not say it.
       */
      unbilled: unbilledCalls.optional(),
    }),
    managementRefusal,
  ]),
});

/**
 * What keys were charged for in a calendar month, as their caps count it. A key without a charge
 * has no row.
 */
export const billingKeyMonths = request({
  ...management,
  name: 'billing.key-months',
  subject: 'billing.key-months',
  body: z.object({ account: objectId, month, keys: z.array(objectId).min(1).max(PAGE_LIMIT_MAX) }),
  answer: z.object({ rows: z.array(z.object({ key: objectId, chargedNanoUsd: nanoUsdPositive })) }),
});

/** Rows in one message. */
export const REFUSED_ROWS_MAX = 500;
/** Ids that a row names: the newest ones. */
export const REFUSED_IDS_MAX = 5;
/** How long refused calls are kept. */
export const REFUSED_KEPT_MS = 35 * 24 * 3_600_000;
/** Rows of one answer: what one message of the bus carries. */
export const REFUSED_SHOWN_MAX = 2_000;

/** A code of the error catalogue. */
const refusalCode = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
const lastIds = z.array(requestId).max(REFUSED_IDS_MAX);

/**
 * Calls that a replica of admission refused in a minute and has not told of yet: counts are added
 * to what is kept. It is sent every few seconds and may be lost; nothing is decided by it.
 */
export const callsRefused = published({
  name: 'calls.refused',
  subject: 'calls.refused',
  version: 1,
  sentBy: ['admission'],
  servedBy: ['billing'],
  reaches: 'one',
  body: z.object({
    /** The replica that refused them. */
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
          /** The newest last. */
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
  /** The newest last. */
  lastIds,
});

/** Refused calls of the minutes in [from, to), newest first, as far back as they are kept. */
export const billingRefusedCalls = request({
  ...management,
  name: 'billing.refused-calls',
  subject: 'billing.refused-calls',
  body: z.object({ account: objectId, from: epochMs, to: epochMs, key: objectId.optional() }),
  answer: z.union([
    z.object({
      rows: z.array(refusedRow).max(REFUSED_SHOWN_MAX),
      /** There are older rows; ask with a lower `to` for them. */
      more: z.boolean(),
      /** Of all rows in [from, to), the largest first. */
      totals: z.array(z.object({ code: refusalCode, count })),
    }),
    managementRefusal,
  ]),
});

/** The refused call of an id, when it is one of the last ids that its minute kept. */
export const billingRefusedCall = request({
  ...management,
  name: 'billing.refused-call',
  subject: 'billing.refused-call',
  body: z.object({ requestId }),
  answer: z.union([z.object({ account: objectId, row: refusedRow }), managementRefusal]),
});
