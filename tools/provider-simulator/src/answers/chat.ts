import type { TokenCounts } from '../scripts/script.js';
import { createUsage } from './answer.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from './answer.js';
import { findRequiredTool } from './demanded-tool.js';
import { measureMessages, positiveInteger } from './prompt-text.js';

/** Most choices of one request, as at the provider. The gateway's own limit is lower. */
export const CHOICES_MAX = 128;

/** `POST /v1/chat/completions`. */
export const chat: Endpoint = { format: 'openai', read, plain, events };

function read(body: JsonObject): AnswerRequest | Problem {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0) {
    return { message: "Missing required parameter: 'messages'.", param: 'messages' };
  }
  const choices = positiveInteger(body, 'n') ?? 1;
  if (choices === 'wrong' || choices > CHOICES_MAX) {
    return { message: `Invalid 'n': an integer from 1 to ${CHOICES_MAX}.`, param: 'n' };
  }
  const limits = [positiveInteger(body, 'max_tokens'), positiveInteger(body, 'max_completion_tokens')];
  if (limits.includes('wrong')) return { message: "Invalid 'max_tokens': an integer from 1.", param: 'max_tokens' };
  const numbers = limits.filter((limit) => typeof limit === 'number');
  const outputTokensMax = numbers.length === 0 ? undefined : Math.min(...numbers);
  return { ...measureMessages(messages), choices, outputTokensMax, toolName: findRequiredTool(body) };
}

function plain(answer: Answer): string {
  const message =
    answer.toolName === undefined
      ? { role: 'assistant', content: answer.pieces.join(''), refusal: null, annotations: [] }
      : { role: 'assistant', content: null, refusal: null, tool_calls: [toolCall(answer, '{}')] };
  const choices = [];
  for (let index = 0; index < answer.choices; index += 1) {
    choices.push({ index, message, logprobs: null, finish_reason: finishReason(answer) });
  }
  return JSON.stringify({
    ...head(answer, 'chat.completion'),
    choices,
    usage: createUsage(answer, completionUsage),
  });
}

function* events(answer: Answer): Generator<string> {
  const isUsageRequested = requestsUsage(answer.body);
  const prefix = `data: ${JSON.stringify(head(answer, 'chat.completion.chunk')).slice(0, -1)},"choices":[{"index":`;
  // As at the provider, earlier events have `"usage": null` if a usage event is requested.
  const suffix = isUsageRequested ? '],"usage":null}\n\n' : ']}\n\n';
  const everyChoice = function* (delta: string, finish: string): Generator<string> {
    for (let index = 0; index < answer.choices; index += 1) {
      yield `${prefix}${index},"delta":${delta},"logprobs":null,"finish_reason":${finish}}${suffix}`;
    }
  };
  if (answer.toolName === undefined) {
    yield* everyChoice('{"role":"assistant","content":"","refusal":null}', 'null');
    for (const piece of answer.pieces) yield* everyChoice(`{"content":${JSON.stringify(piece)}}`, 'null');
  } else {
    const call = { index: 0, ...toolCall(answer, '') };
    yield* everyChoice(JSON.stringify({ role: 'assistant', content: null, tool_calls: [call] }), 'null');
    yield* everyChoice('{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}', 'null');
  }
  yield* everyChoice('{}', JSON.stringify(finishReason(answer)));
  const usage = isUsageRequested ? createUsage(answer, completionUsage) : undefined;
  if (usage !== undefined) yield usageEvent(head(answer, 'chat.completion.chunk'), usage);
  yield 'data: [DONE]\n\n';
}

/** Reports whether `stream_options.include_usage` requests the additional event. */
export function requestsUsage(body: JsonObject): boolean {
  const options = body['stream_options'];
  return typeof options === 'object' && options !== null && (options as JsonObject)['include_usage'] === true;
}

/** Returns the additional event at the end of a stream, which has usage and no choices. */
export function usageEvent(start: JsonObject, usage: JsonObject): string {
  return `data: ${JSON.stringify({ ...start, choices: [], usage })}\n\n`;
}

/**
 * Returns the usage of chat and legacy completions. Cached tokens are part of the prompt; the
 * format has no cache writes.
 */
export function completionUsage(tokens: TokenCounts): JsonObject {
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cachedInput, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}

function head(answer: Answer, object: string): JsonObject {
  return { id: `chatcmpl-${answer.id}`, object, created: answer.createdSeconds, model: answer.model };
}

function finishReason(answer: Answer): string {
  return answer.toolName === undefined ? 'stop' : 'tool_calls';
}

function toolCall(answer: Answer, text: string): JsonObject {
  return { id: `call_${answer.id}`, type: 'function', function: { name: answer.toolName, arguments: text } };
}
