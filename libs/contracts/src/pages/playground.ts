import { z } from 'zod';
import { modelId } from '../operator/scalars.js';

export const PLAYGROUND_MESSAGES_MAX = 200;
export const PLAYGROUND_TEXT_CHARS_MAX = 200_000;

/** One turn: answered as the edge's event stream, with `x-gateway-request-id` to ask for its cost. */
export const playgroundTurn = z.object({
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
export type PlaygroundTurn = z.input<typeof playgroundTurn>;
