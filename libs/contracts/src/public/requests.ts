import { z } from 'zod';

const limit = z.int().min(1).nullish();

/**
 * What the gateway checks of a chat completion (specification, Request objects; behaviour, Fields). Null in an optional
 * field means unset; every other field is forwarded untouched.
 */
export const chatCompletionRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({})),
  stream: z.boolean().nullish(),
  max_tokens: limit,
  max_completion_tokens: limit,
  temperature: z.number().nullish(),
  tools: z.array(z.looseObject({})).nullish(),
  tool_choice: z.unknown().optional(),
  response_format: z.looseObject({}).nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().min(1).max(4).nullish(),
});
