import { SAMPLINGS_MAX } from '@gateway/metering';
import { z } from 'zod';
import { priceClass, priceUnit } from '../operator/profile.js';
import { count, epochMs, modelId, month, nanoUsd, nanoUsdPositive, objectId } from './scalars.js';

/**
 * What the edge can tell of a call's size without a tokenizer; admission makes worst and least cost
 * of it.
 */
export const callBounds = z.object({
  promptBytes: count,
  arrayElements: count,
  /** Of all kinds. */
  attachments: count,
  /**
   * prompts × max(n, best_of) × the largest token limit of the endpoint that is set, else 8,192; 0
   * for embeddings.
   */
  outputTokensMax: count,
  /** Attachments that are not images, with their decoded bytes; absent: all are images. */
  files: z
    .object({
      /** Also what is not in the request itself, and what is not known. */
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

/** Nano-USD per 1,000,000 tokens of the kind; null: as `resolvePrices` of metering. */
const kindFigures = z.object({
  audioInput: nanoUsdPositive.nullable(),
  audioOutput: nanoUsdPositive.nullable(),
  imageInput: nanoUsdPositive.nullable(),
  imageOutput: nanoUsdPositive.nullable(),
});

const classFigures = z.object({
  ...tierFigures,
  tiers: z.array(z.object({ aboveInputTokens: count, ...tierFigures })).max(8),
  /** Absent: all of them are null. */
  kinds: kindFigures.optional(),
});

/**
 * What a version prices beside tokens of the standard class
 * (docs/behaviour.md#classes-and-units).
 */
export const priceExtras = z.object({
  classes: z.object({
    priority: classFigures.optional(),
    flex: classFigures.optional(),
    fast: classFigures.optional(),
  }),
  /** Nano-USD for one use. */
  units: z.record(priceUnit, nanoUsdPositive),
  /** Of the standard class. */
  kinds: kindFigures,
});
export type WirePriceExtras = z.infer<typeof priceExtras>;

/** Prices in nano-USD per 1,000,000 tokens; null: as `resolvePrices` of metering. */
export const priceFigures = z.object({
  ...tierFigures,
  perCall: nanoUsdPositive,
  tiers: z.array(z.object({ aboveInputTokens: count, ...tierFigures })).max(8),
  /** Absent: one class, nothing by the piece. */
  extras: priceExtras.optional(),
});
export type WirePriceFigures = z.infer<typeof priceFigures>;

/**
 * A price version or a cost version with its figures: events carry it, so that each can be rated
 * alone.
 */
export const pricedVersion = z.object({ version: objectId, figures: priceFigures });
export type PricedVersion = z.infer<typeof pricedVersion>;

/** Tokens that are no text: parts of the input that no cache had, and of the output. */
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

/** `input` counts all input tokens, the cached and cache-writing ones among them. */
export const tokenUsage = z.object({
  ...tokenCounts,
  /** Their sums are the counts of the whole. Absent: one sampling. */
  samplings: z.array(z.object(tokenCounts)).min(2).max(SAMPLINGS_MAX).optional(),
});
export type WireTokenUsage = z.infer<typeof tokenUsage>;

/** Uses of one tool in one call: a larger number is nobody's, and nobody pays for it. */
export const UNIT_USES_MAX = 10_000;
const unitUses = z.record(priceUnit, z.int().min(0).max(UNIT_USES_MAX));

/** In which class a call was served, and what it used by the piece. */
export const servedExtras = z.object({ class: priceClass, units: unitUses });
export type ServedExtras = z.infer<typeof servedExtras>;

/** Different readings of one request among the sources of its model. */
export const ASKS_MAX = 8;
/**
 * How a source reads what a request asks for: its class, the most uses of each unit, and the
 * request's field that asks for more than the standard class.
 */
export const askedExtras = z.object({ class: priceClass, units: unitUses, field: z.string().max(64) });
export type AskedExtras = z.infer<typeof askedExtras>;

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
 * What admission set aside for a call. It travels with the call (answer, heartbeats, release, usage
 * event), so that a limit store that was lost can be filled again without asking anybody else.
 */
export const holdFields = z.object({
  account: objectId,
  key: objectId,
  member: objectId,
  model: modelId,
  priceVersion: objectId,
  worstNanoUsd: nanoUsdPositive,
  /** What the plan pays at most before the wallet does; 0 for wallet-funded calls. */
  planMaxNanoUsd: nanoUsdPositive,
  /** Wallet-funded: null, no bound, and the worst case is held. Plan-funded: the wallet's hold. */
  walletMaxNanoUsd: nanoUsdPositive.nullable(),
  periods,
  /** Plan-funded: the windows that the call counts in. */
  windows: z.array(z.object({ type: windowType, unit: windowUnit })).max(6),
  /** Plan-funded: the unit of the model's allotment, when the plan has one. */
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
  /** Models that the plan pays for; null: all. Without a plan: an empty list. */
  models: z.array(modelId).nullable(),
  windows: z.array(z.object({ type: windowType, unit: windowUnit, limit: nanoUsd, label: z.string() })).max(6),
  allotments: z.array(z.object({ model: modelId, unit: windowUnit, limit: nanoUsd })).max(256),
};

/**
 * The terms under which an account is admitted; billing composes them of plan, subscription and
 * overrides. They say what holds before, in and after the periods that they name, so that admission
 * goes from one to the next by its own time.
 */
export const accountTerms = z.object({
  ...periodTerms,
  subscription: subscriptionPeriod.nullable(),
  /** The terms of the period that follows: they hold from its start on. */
  next: z.object({ ...periodTerms, subscription: subscriptionPeriod }).optional(),
  /** What holds while no period runs; absent: what the last period had. */
  withoutPlan: z.object({ requestsPerMinute: count, concurrency: count }).optional(),
});
export type AccountTerms = z.infer<typeof accountTerms>;
