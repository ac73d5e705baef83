import { createUsage } from './answer.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from './answer.js';
import { requestsUsage, CHOICES_MAX, completionUsage, usageEvent } from './chat.js';
import { positiveInteger } from './prompt-text.js';

/** Characters per token of a tokenized prompt. */
const CHARACTERS_PER_TOKEN = 4;

/** `POST /v1/completions`, the legacy form. */
export const completions: Endpoint = { format: 'openai', read, plain, events };

function read(body: JsonObject): AnswerRequest | Problem {
  const prompts = promptsOf(body['prompt']);
  if (prompts === undefined) return { message: "Missing required parameter: 'prompt'.", param: 'prompt' };
  const count = positiveInteger(body, 'n') ?? 1;
  if (count === 'wrong' || count * prompts.length > CHOICES_MAX) {
    return { message: `Invalid 'n': at most ${CHOICES_MAX} choices for all prompts.`, param: 'n' };
  }
  const outputTokensMax = positiveInteger(body, 'max_tokens');
  if (outputTokensMax === 'wrong') return { message: "Invalid 'max_tokens': an integer from 1.", param: 'max_tokens' };
  const last = prompts.at(-1);
  return {
    lastText: typeof last === 'string' ? last : '',
    promptCharacters: prompts.reduce((sum, prompt) => sum + lengthOf(prompt), 0),
    choices: count * prompts.length,
    outputTokensMax,
    toolName: undefined,
  };
}

/**
 * Returns the prompts or inputs of a body: a string, token numbers, or several of either; undefined
 * for anything else.
 */
export function promptsOf(input: unknown): (string | number[])[] | undefined {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (isTokens(input)) return [input];
  return input.every((each) => typeof each === 'string' || isTokens(each))
    ? (input as (string | number[])[])
    : undefined;
}

/** Returns the characters of one prompt. */
export function lengthOf(prompt: string | number[]): number {
  return typeof prompt === 'string' ? prompt.length : prompt.length * CHARACTERS_PER_TOKEN;
}

function plain(answer: Answer): string {
  const text = answer.pieces.join('');
  const choices = [];
  for (let index = 0; index < answer.choices; index += 1) {
    choices.push({ text, index, logprobs: null, finish_reason: 'stop' });
  }
  return JSON.stringify({ ...head(answer), choices, usage: createUsage(answer, completionUsage) });
}

function* events(answer: Answer): Generator<string> {
  const isUsageRequested = requestsUsage(answer.body);
  const prefix = `data: ${JSON.stringify(head(answer)).slice(0, -1)},"choices":[{"text":`;
  const suffix = isUsageRequested ? '}],"usage":null}\n\n' : '}]}\n\n';
  const everyChoice = function* (text: string, finish: string): Generator<string> {
    for (let index = 0; index < answer.choices; index += 1) {
      yield `${prefix}${JSON.stringify(text)},"index":${index},"logprobs":null,"finish_reason":${finish}${suffix}`;
    }
  };
  for (const piece of answer.pieces) yield* everyChoice(piece, 'null');
  yield* everyChoice('', '"stop"');
  const usage = isUsageRequested ? createUsage(answer, completionUsage) : undefined;
  if (usage !== undefined) yield usageEvent(head(answer), usage);
  yield 'data: [DONE]\n\n';
}

function head(answer: Answer): JsonObject {
  return { id: `cmpl-${answer.id}`, object: 'text_completion', created: answer.createdSeconds, model: answer.model };
}

function isTokens(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token));
}
