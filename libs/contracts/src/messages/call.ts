import { SAMPLINGS_MAX } from '@gateway/metering';
import { z } from 'zod';
import { priceClass, priceUnit } from '../operator/profile.js';
import { count, epochMs, modelId, month, nanoUsd, nanoUsdPositive, objectId } from './scalars.js';

/**
 * The size of a request, which the edge measures without a tokenizer. Admission computes worst case
 * and least cost from it.
 */
export const callBounds = z.object({
  promptBytes: count,
  arrayElements: count,
  /** Attachments of all kinds. */
  attachments: count,
  /**
   * prompts × max(n, best_of) × the largest token limit that the endpoint has (8,192 if none is
   * set); 0 for embeddings.
   */
  outputTokensMax: count,
  /** Attachments other than images, with decoded bytes. Absent: all attachments are images. */
  files: z
    .object({
      /** Includes documents by URL or file ID, and attachments of unknown type. */
      documents: count,
      documentBytes: count,
      audios: count,
      audioBytes: count,
      videos: count,
      videoBytes: count,
    })
    .optional(),
});
export type CallBounds = z.infer<typeof callBounds>;

const tierFigures = {
  inputPerMillion: nanoUsdPositive,
  cachedInputPerMillion: nanoUsdPositive.nullable(),
  cacheWritePerMillion: nanoUsdPositive.nullable(),
  cacheWrite1hPerMillion: nanoUsdPositive.nullable(),
  outputPerMillion: nanoUsdPositive,
};

/** Nano-USD per 1,000,000 tokens of the kind. Null: see `resolvePrices` of metering. */
const kindFigures = z.object({
  audioInput: nanoUsdPositive.nullable(),
  audioOutput: nanoUsdPositive.nullable(),
  imageInput: nanoUsdPositive.nullable(),
  imageOutput: nanoUsdPositive.nullable(),
});

const classFigures = z.object({
  ...tierFigures,
  tiers: z.array(z.object({ aboveInputTokens: count, ...tierFigures })).max(8),
  /** Absent: all prices are null. */
  kinds: kindFigures.optional(),
});

/**
 * Prices of a version in addition to those of standard-class tokens
 * (docs/behaviour.md#classes-and-units).
 */
export const priceExtras = z.object({
  classes: z.object({
    priority: classFigures.optional(),
    flex: classFigures.optional(),
    fast: classFigures.optional(),
  }),
  /** Nano-USD per use. */
  units: z.record(priceUnit, nanoUsdPositive),
  /** Prices of the standard class. */
  kinds: kindFigures,
});

/** Prices in nano-USD per 1,000,000 tokens. Null: see `resolvePrices` of metering. */
export const priceFigures = z.object({
  ...tierFigures,
  perCall: nanoUsdPositive,
  tiers: z.array(z.object({ aboveInputTokens: count, ...tierFigures })).max(8),
  /** Absent: only the standard class is sold, without units. */
  extras: priceExtras.optional(),
});
export type WirePriceFigures = z.infer<typeof priceFigures>;

/** A price or cost version with its figures, so that an event with it can be rated alone. */
export const pricedVersion = z.object({ version: objectId, figures: priceFigures });
export type PricedVersion = z.infer<typeof pricedVersion>;

/** Tokens that are not text: parts of the uncached input, and of the output. */
export const tokenKinds = z.object({ audioInput: count, imageInput: count, audioOutput: count, imageOutput: count });

const tokenCounts = {
  input: count,
  cachedInput: count,
  cacheWrite: count,
  cacheWrite1h: count,
  output: count,
  /** Absent: all tokens are text. */
  kinds: tokenKinds.optional(),
};

/** Usage of a call. `input` counts all input tokens, including cached and cache-writing ones. */
export const tokenUsage = z.object({
  ...tokenCounts,
  /** The samplings of the response. Their sums are the counts above. Absent: one sampling. */
  samplings: z.array(z.object(tokenCounts)).min(2).max(SAMPLINGS_MAX).optional(),
});
export type WireTokenUsage = z.infer<typeof tokenUsage>;

/** Outcomes of one attempt at one source. */
export const ATTEMPT_OUTCOMES = [
  'completed', // a complete response
  'rejected', // an error status, final or failed over
  'unreachable', // refused, DNS, TLS, connect timeout: nothing was sent
  'timed_out', // a timeout of headers, first event or silence, or the deadline
  'broken', // the connection ended before the response
  'abandoned', // the client disconnected
] as const;

/** Maximum uses of a tool in a call. A larger reported number is an error and is not charged. */
export const UNIT_USES_MAX = 10_000;
const unitUses = z.record(priceUnit, z.int().min(0).max(UNIT_USES_MAX));

/** The class in which a call was served, and the units that it used. */
export const servedExtras = z.object({ class: priceClass, units: unitUses });
export type ServedClassUnits = z.infer<typeof servedExtras>;

/** Maximum number of different readings of one request among the sources of its model. */
export const REQUESTED_EXTRAS_MAX = 8;
/**
 * A source's reading of a request: the class, the most uses of each unit, and the request field
 * that selects more than the standard class.
 */
export const requestedExtras = z.object({ class: priceClass, units: unitUses, field: z.string().max(64) });
export type RequestedExtras = z.infer<typeof requestedExtras>;

export const WINDOW_TYPES = ['session_5h', 'weekly', 'monthly'] as const;
export const windowType = z.enum(WINDOW_TYPES);
export const WINDOW_UNITS = ['usd', 'requests'] as const;
export const windowUnit = z.enum(WINDOW_UNITS);

/**
 * The periods that a call belongs to, fixed at admission (docs/behaviour.md#windows). Starts are
 * epoch milliseconds.
 */
export const periods = z.object({
  month,
  session5h: epochMs.nullable(),
  weekly: epochMs.nullable(),
  subscription: z.object({ id: objectId, start: epochMs, end: epochMs }).nullable(),
});

/**
 * The hold of a call as decided at admission. The admission response, heartbeats, release and usage
 * event include it, so that a lost limit store can be restored without other services.
 */
export const holdFields = z.object({
  account: objectId,
  key: objectId,
  member: objectId,
  model: modelId,
  priceVersion: objectId,
  worstNanoUsd: nanoUsdPositive,
  /** The most that the plan pays before the wallet does; 0 for wallet-funded calls. */
  planMaxNanoUsd: nanoUsdPositive,
  /** The wallet's hold of a plan-funded call. Null: wallet-funded, with the worst case held. */
  walletMaxNanoUsd: nanoUsdPositive.nullable(),
  periods,
  /** For plan-funded calls: the windows that the call counts in. */
  windows: z.array(z.object({ type: windowType, unit: windowUnit })).max(6),
  /** For plan-funded calls: the unit of the model's allotment, if the plan has one. */
  allotment: windowUnit.nullable(),
  /** Redis time of the admission. */
  admittedAt: epochMs,
});
export type HoldFields = z.infer<typeof holdFields>;

const subscriptionPeriod = z.object({ id: objectId, start: epochMs, end: epochMs });

const periodTerms = {
  plan: z.object({ id: objectId, name: z.string(), tier: z.string() }).nullable(),
  requestsPerMinute: count,
  concurrency: count,
  /** Models that the plan pays for. Null: all models. Without a plan: an empty list. */
  models: z.array(modelId).nullable(),
  windows: z.array(z.object({ type: windowType, unit: windowUnit, limit: nanoUsd, label: z.string() })).max(6),
  allotments: z.array(z.object({ model: modelId, unit: windowUnit, limit: nanoUsd })).max(256),
};

/**
 * The limits under which an account is admitted. Billing composes them from plan, subscription and
 * overrides. They cover the times before, in and after the listed periods, so that admission moves
 * to the next period by its own clock.
 */
export const accountTerms = z.object({
  ...periodTerms,
  subscription: subscriptionPeriod.nullable(),
  /** The terms of the next period, which apply from its start. */
  next: z.object({ ...periodTerms, subscription: subscriptionPeriod }).optional(),
  /** The limits while no period runs. Absent: those of the last period. */
  withoutPlan: z.object({ requestsPerMinute: count, concurrency: count }).optional(),
});
export type AccountTerms = z.infer<typeof accountTerms>;

/** Limits that neither a plan nor an operator sets (docs/behaviour.md#order-of-refusals). */
export const LIMIT_DEFAULTS = {
  requestsPerMinute: 60,
  concurrencyWithPlan: 10,
  concurrencyWithoutPlan: 3,
  maxActiveKeys: 3,
  /** The playground does not use the account's limit. */
  playgroundRequestsPerMinute: 10,
} as const;

/** Terms of an account without a plan and without an operator's limits. */
export const TERMS_WITHOUT_PLAN: AccountTerms = {
  plan: null,
  requestsPerMinute: LIMIT_DEFAULTS.requestsPerMinute,
  concurrency: LIMIT_DEFAULTS.concurrencyWithoutPlan,
  models: [],
  windows: [],
  allotments: [],
  subscription: null,
};

/**
 * Numbers that explain a refusal. The code decides which are set. Amounts have the limit's unit.
 */
export const refusalFacts = z.object({
  limit: nanoUsd.optional(),
  used: nanoUsd.optional(),
  held: nanoUsd.optional(),
  worst: nanoUsd.optional(),
  least: nanoUsd.optional(),
  available: nanoUsd.optional(),
  unit: windowUnit.optional(),
  window: windowType.optional(),
  resetsAt: epochMs.optional(),
  retryAfterSeconds: count.optional(),
  allowedModels: z.array(z.string()).optional(),
  model: z.string().optional(),
  /** With `model_not_priced`: the request field that selects something without a price. */
  field: z.string().optional(),
  /** With `field`: the class, unit, tool type or value without a price. */
  unpriced: z.string().optional(),
  /** With `rate_limited` only: the limit is the playground's and not the account's. */
  playground: z.literal(true).optional(),
});
export type RefusalFacts = z.infer<typeof refusalFacts>;
