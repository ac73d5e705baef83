import type { TokenCounts } from '../scripts/script.js';
import {
  type Answer,
  type AnswerRequest,
  type Endpoint,
  type JsonObject,
  type Problem,
  createUsage,
  findRequiredTool,
  measureMessages,
  positiveInteger,
  textOf,
} from './answer.js';

/** Most choices of one request, as at the provider. The gateway's own limit is lower. */
const CHOICES_MAX = 128;
/** Characters per token of a tokenized prompt. */
const CHARACTERS_PER_TOKEN = 4;

/** `POST /v1/chat/completions`. */
export const chat: Endpoint = {
  format: 'openai',
  read(body) {
    const { messages } = body;
    if (!Array.isArray(messages) || messages.length === 0)
      return { message: "Missing required parameter: 'messages'.", param: 'messages' };
    return withLimits({ ...measureMessages(messages), toolName: findRequiredTool(body) }, body, 1);
  },
  plain: (answer) => plain(answer, 'chat.completion', createChatChoice(answer)),
  events(answer) {
    const delta = (fields: JsonObject): JsonObject => ({ delta: fields });
    const deltas =
      answer.toolName === undefined
        ? [{ role: 'assistant', content: '', refusal: null }, ...answer.pieces.map((content) => ({ content }))]
        : [
            { role: 'assistant', content: null, tool_calls: [{ index: 0, ...toolCall(answer, '') }] },
            { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
          ];
    return events(answer, 'chat.completion.chunk', deltas.map(delta), delta({}));
  },
};

/** `POST /v1/completions`, the legacy form. */
export const completions: Endpoint = {
  format: 'openai',
  read(body) {
    const prompts = listPrompts(body['prompt']);
    if (prompts === undefined) return { message: "Missing required parameter: 'prompt'.", param: 'prompt' };
    const last = prompts.at(-1);
    const lastText = typeof last === 'string' ? last : '';
    return withLimits({ lastText, promptCharacters: countPrompts(prompts) }, body, prompts.length);
  },
  plain: (answer) => plain(answer, 'text_completion', { text: textOf(answer) }),
  events: (answer) =>
    events(
      answer,
      'text_completion',
      answer.pieces.map((text) => ({ text })),
      { text: '' },
    ),
};

/** Adds the number of choices and the output limit, or returns the error about them. */
function withLimits(request: AnswerRequest, body: JsonObject, prompts: number): AnswerRequest | Problem {
  const choices = (positiveInteger(body, 'n') ?? 1) * prompts;
  if (!(choices <= CHOICES_MAX)) return { message: `Invalid 'n': an integer from 1 to ${CHOICES_MAX}.`, param: 'n' };
  const fields = ['max_tokens', 'max_completion_tokens'].map((field) => positiveInteger(body, field) ?? Infinity);
  const outputTokensMax = Math.min(...fields);
  if (Number.isNaN(outputTokensMax))
    return { message: "Invalid 'max_tokens': an integer from 1.", param: 'max_tokens' };
  return { ...request, choices, ...(outputTokensMax === Infinity ? {} : { outputTokensMax }) };
}

/**
 * Returns the prompts or inputs of a body: a string, token numbers, or several of either; undefined
 * for anything else.
 */
export function listPrompts(input: unknown): (string | number[])[] | undefined {
  const isTokens = (value: unknown): boolean =>
    Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token));
  const prompts: unknown[] = Array.isArray(input) && !isTokens(input) ? input : [input];
  const areValid = prompts.length > 0 && prompts.every((each) => typeof each === 'string' || isTokens(each));
  return areValid ? (prompts as (string | number[])[]) : undefined;
}

/** Returns the characters of all prompts. */
export function countPrompts(prompts: readonly (string | number[])[]): number {
  const charactersOf = (prompt: string | number[]) =>
    prompt.length * (typeof prompt === 'string' ? 1 : CHARACTERS_PER_TOKEN);
  return prompts.reduce((sum, prompt) => sum + charactersOf(prompt), 0);
}

function plain(answer: Answer, object: string, choice: JsonObject): JsonObject {
  const ending = { logprobs: null, finish_reason: finishReason(answer) };
  const choices = Array.from({ length: answer.choices }, (_, index) => ({ index, ...choice, ...ending }));
  return { ...head(answer, object), choices, usage: createUsage(answer, completionUsage) };
}

/** Each choice has an event for each part, and one for its end. Usage follows if requested. */
function* events(answer: Answer, object: string, parts: readonly JsonObject[], end: JsonObject): Generator<string> {
  const options = answer.body['stream_options'] as { include_usage?: unknown } | null | undefined;
  const isUsageRequested = options?.include_usage === true;
  const start = head(answer, object);
  const prefix = `data: ${JSON.stringify(start).slice(0, -1)},"choices":[`;
  // As at the provider, earlier events have `"usage": null` if a usage event is requested.
  const suffix = isUsageRequested ? '],"usage":null}\n\n' : ']}\n\n';
  const ofEach = function* (fields: JsonObject, finish_reason: string | null): Generator<string> {
    for (let index = 0; index < answer.choices; index += 1)
      yield prefix + JSON.stringify({ index, ...fields, logprobs: null, finish_reason }) + suffix;
  };
  for (const part of parts) yield* ofEach(part, null);
  yield* ofEach(end, finishReason(answer));
  const usage = isUsageRequested ? createUsage(answer, completionUsage) : undefined;
  if (usage !== undefined) yield `data: ${JSON.stringify({ ...start, choices: [], usage })}\n\n`;
  yield 'data: [DONE]\n\n';
}

/** Cached tokens are part of the prompt; the format has no cache writes. */
function completionUsage(tokens: TokenCounts): JsonObject {
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cachedInput, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}

function createChatChoice(answer: Answer): JsonObject {
  const message = { role: 'assistant', content: textOf(answer), refusal: null, annotations: [] };
  const call = { role: 'assistant', content: null, refusal: null, tool_calls: [toolCall(answer, '{}')] };
  return { message: answer.toolName === undefined ? message : call };
}

function head({ id, createdSeconds: created, model }: Answer, object: string): JsonObject {
  return { id: `${object === 'text_completion' ? 'cmpl' : 'chatcmpl'}-${id}`, object, created, model };
}

function finishReason({ toolName }: Answer): string {
  return toolName === undefined ? 'stop' : 'tool_calls';
}

function toolCall(answer: Answer, text: string): JsonObject {
  return { id: `call_${answer.id}`, type: 'function', function: { name: answer.toolName, arguments: text } };
}
