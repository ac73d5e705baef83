import { z } from 'zod';
import { WINDOW_TYPES, WINDOW_UNITS } from '../messages/call.js';

const dateTime = z.iso.datetime();

/** USD per million tokens, as decimal strings. */
const tokenPricing = z.object({
  input: z.string(),
  cached_input: z.string(),
  cache_write: z.string(),
  cache_write_1h: z.string(),
  output: z.string(),
});
export type TokenPricing = z.infer<typeof tokenPricing>;

/** GET /v1/models (specification, Model list; docs/behaviour.md#models, for the extra fields). */
const modelListEntry = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  type: z.literal('model'),
  display_name: z.string(),
  created_at: dateTime,
  endpoints: z.array(z.string()),
  context_length: z.int().nullable(),
  pricing: tokenPricing.extend({
    /** USD. */
    per_call: z.string(),
    /** Prices of calls with more input tokens; empty if there are none. */
    long_context: z.array(tokenPricing.extend({ above_input_tokens: z.int() })),
  }),
});
export type ModelListEntry = z.infer<typeof modelListEntry>;
export const modelList = z.object({ object: z.literal('list'), data: z.array(modelListEntry) });
export type ModelList = z.infer<typeof modelList>;

/** GET /v1/gateway/usage (specification, Usage object). */
export const usageObject = z.object({
  object: z.literal('gateway.usage'),
  plan: z.object({ name: z.string(), tier: z.string(), periodEnd: dateTime.nullable() }).nullable(),
  windows: z.array(
    z.object({
      type: z.enum(WINDOW_TYPES),
      label: z.string(),
      unit: z.enum(WINDOW_UNITS),
      limit: z.number(),
      used: z.number(),
      remaining: z.number(),
      percentUsed: z.int(),
      resetsAt: dateTime,
    }),
  ),
  wallet: z.object({ balanceUsd: z.number().nullable() }).nullable(),
  key: z.object({ monthlySpendCapUsd: z.number().nullable(), allowedModels: z.array(z.string()).nullable() }),
});
export type UsageObject = z.infer<typeof usageObject>;

/** GET /api/gateway/config. */
export const gatewayConfig = z.object({ chatBaseUrl: z.string(), messagesBaseUrl: z.string() });
export type GatewayConfig = z.infer<typeof gatewayConfig>;

/** POST /v1/messages/count_tokens. */
export const tokenCount = z.looseObject({ input_tokens: z.number() });

/** The envelope of the chat-style endpoints (specification, Error object). */
export const chatError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    code: z.string(),
    param: z.string().nullable(),
    request_id: z.string().optional(),
  }),
});

/** The error object of the messages endpoints (specification, Errors). */
export const messagesError = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.string(),
    message: z.string(),
    code: z.string(),
    details: z.object({ error_code: z.string() }),
  }),
  request_id: z.string(),
});
