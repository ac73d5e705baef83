import { z } from 'zod';

/*
 * The request fields that the gateway checks (specification, Request objects;
 * docs/behaviour.md#fields). Null in an optional field means unset. Fields that are only described
 * here, and all other fields, are forwarded unchanged.
 */

const model = z.string().min(1).max(512);
const objects = z.array(z.looseObject({}));
const text = z.union([z.string(), z.array(z.unknown())]);
const limit = z.int().min(0).nullish();
/**
 * A field that the specification does not list for the endpoint but clients may send: forwarded
 * with any value.
 */
const unlisted = z.unknown().optional();
const stream = z.boolean().nullish();
const choices = z.int().min(1).max(4).nullish();
const streamOptions = z.looseObject({ include_usage: z.boolean().nullish() }).nullish();

export const chatCompletionRequest = z.looseObject({
  model,
  messages: objects,
  stream,
  max_tokens: limit,
  max_completion_tokens: unlisted,
  temperature: z.number().nullish(),
  tools: objects.nullish(),
  tool_choice: z.unknown().optional(),
  response_format: z.looseObject({}).nullish(),
  stream_options: streamOptions,
  n: choices,
});

export const completionRequest = z.looseObject({
  model,
  prompt: text,
  max_tokens: limit,
  stream,
  stream_options: unlisted,
  n: unlisted,
  best_of: unlisted,
});

export const messagesRequest = z.looseObject({
  model,
  max_tokens: z.int().min(0),
  messages: objects,
  system: text.nullish(),
  stream,
  tools: objects.nullish(),
});

/** The body of a token count request. Fields for the response only are not forwarded. */
export const tokenCountRequest = z.looseObject({
  model,
  messages: objects,
  system: text.nullish(),
  tools: objects.nullish(),
});

export const embeddingsRequest = z.looseObject({ model, input: text });

export const responsesRequest = z.looseObject({
  model,
  input: text,
  stream,
  max_output_tokens: unlisted,
  background: z.literal(false).nullish(),
});
