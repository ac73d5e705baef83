import { z } from 'zod';
import { modelId } from '../operator/scalars.js';

/** USD per 1,000,000 tokens as decimal strings. */
const perMillion = {
  inputPerMillion: z.string(),
  cachedInputPerMillion: z.string(),
  cacheWritePerMillion: z.string(),
  /** Cache writes kept for one hour instead of five minutes. */
  cacheWrite1hPerMillion: z.string(),
  outputPerMillion: z.string(),
};

export const pageModel = z.object({
  id: z.string(),
  displayName: z.string(),
  kind: z.enum(['chat', 'embedding']),
  /** Whether the account's plan includes the model, or its wallet can pay for it. */
  allowed: z.boolean(),
  /** False: the model is switched off, or no source serves it. Funds do not change that. */
  available: z.boolean(),
  /** The last attempt at each recently tried source failed, so requests will probably fail. */
  failing: z.boolean(),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  /** Null: the model has no price now and cannot be requested. */
  prices: z
    .object({
      ...perMillion,
      /** USD per call. */
      perCall: z.string(),
      /** Prices of calls with more input tokens, ascending. */
      tiers: z.array(z.object({ aboveInputTokens: z.int(), ...perMillion })),
    })
    .nullable(),
});
export type PageModel = z.infer<typeof pageModel>;
export const pageModels = z.object({ data: z.array(pageModel) });
export type PageModels = z.infer<typeof pageModels>;

export const PLAYGROUND_MESSAGES_MAX = 200;
export const PLAYGROUND_TEXT_CHARS_MAX = 200_000;

/**
 * A playground request. The response is the edge's event stream; its `x-gateway-request-id` header
 * is the ID for looking up the cost.
 */
export const playgroundRequest = z.object({
  model: modelId,
  messages: z
    .array(
      z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string().max(PLAYGROUND_TEXT_CHARS_MAX) }),
    )
    .min(1)
    .max(PLAYGROUND_MESSAGES_MAX),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).max(1_000_000).optional(),
});
export type PlaygroundRequest = z.input<typeof playgroundRequest>;
