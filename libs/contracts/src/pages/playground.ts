import { z } from 'zod';
import { modelId } from '../operator/scalars.js';

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
      z.object({
        role: z.enum(['system', 'user', 'assistant']),
        content: z.string().max(PLAYGROUND_TEXT_CHARS_MAX),
      }),
    )
    .min(1)
    .max(PLAYGROUND_MESSAGES_MAX),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).max(1_000_000).optional(),
});
export type PlaygroundRequest = z.input<typeof playgroundRequest>;
