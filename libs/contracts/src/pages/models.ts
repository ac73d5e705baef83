import { z } from 'zod';

/** USD per 1,000,000 tokens as decimal strings. */
const perMillion = {
  inputPerMillion: z.string(),
  cachedInputPerMillion: z.string(),
  cacheWritePerMillion: z.string(),
  /** Written for an hour instead of five minutes. */
  cacheWrite1hPerMillion: z.string(),
  outputPerMillion: z.string(),
};

export const pageModel = z.object({
  id: z.string(),
  displayName: z.string(),
  kind: z.enum(['chat', 'embedding']),
  /** Whether the account's plan includes it, or its wallet can pay it. */
  allowed: z.boolean(),
  /** False: it is switched off, or no source serves it; money does not change that. */
  available: z.boolean(),
  /**
   * The last try of every source of it that was tried lately failed: a call would fail as well,
   * most likely.
   */
  failing: z.boolean(),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  /** Null: it has no price now and cannot be called. */
  prices: z
    .object({
      ...perMillion,
      /** USD a call. */
      perCall: z.string(),
      /** Prices of calls with more input than that, ascending. */
      tiers: z.array(z.object({ aboveInputTokens: z.int(), ...perMillion })),
    })
    .nullable(),
});
export type PageModel = z.infer<typeof pageModel>;
export const pageModels = z.object({ data: z.array(pageModel) });
export type PageModels = z.infer<typeof pageModels>;
