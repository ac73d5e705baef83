import type { TokenCounts } from '../scripts/script.js';
import {
  type Answer,
  type AnswerRequest,
  type Endpoint,
  type JsonObject,
  type Problem,
  countCharacters,
  createUsage,
  findRequiredTool,
  formatEvent,
  measureMessages,
  positiveInteger,
  textOf,
} from './answer.js';

/** Most choices of one request, as at the provider. The gateway's own limit is lower. */
const CHOICES_MAX = 128;
/** Characters per token of a tokenized prompt. */
const CHARACTERS_PER_TOKEN = 4;
const DIMENSIONS_DEFAULT = 256;
const DIMENSIONS_MAX = 4096;
/** Most inputs in one request, as at the provider. */
const INPUTS_MAX = 2048;

const missing = (param: string): Problem => ({ message: `Missing required parameter: '${param}'.`, param });
const invalid = (param: string, most = ''): Problem => ({
  message: `Invalid '${param}': an integer from 1${most}.`,
  param,
});

/** `POST /v1/chat/completions`. */
export const chat: Endpoint = {
  format: 'openai',
  read(body) {
    const { messages } = body;
    if (!Array.isArray(messages) || messages.length === 0) return missing('messages');
    return withLimits({ ...measureMessages(messages), toolName: findRequiredTool(body) }, body, 1);
  },
  plain(answer) {
    const message = { role: 'assistant', content: textOf(answer), refusal: null, annotations: [] };
    const call = { role: 'assistant', content: null, refusal: null, tool_calls: [toolCall(answer, '{}')] };
    return plain(answer, 'chat.completion', { message: answer.toolName === undefined ? message : call });
  },
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
    if (prompts === undefined) return missing('prompt');
    const last = prompts.at(-1);
    const lastText = typeof last === 'string' ? last : '';
    return withLimits({ lastText, promptCharacters: countPrompts(prompts) }, body, prompts.length);
  },
  plain: (answer) => plain(answer, 'text_completion', { text: textOf(answer) }),
  events(answer) {
    const parts = answer.pieces.map((text) => ({ text }));
    return events(answer, 'text_completion', parts, { text: '' });
  },
};

/** Adds the number of choices and the output limit, or returns the error about them. */
function withLimits(request: AnswerRequest, body: JsonObject, prompts: number): AnswerRequest | Problem {
  const choices = (positiveInteger(body, 'n') ?? 1) * prompts;
  if (!(choices <= CHOICES_MAX)) return invalid('n', ` to ${CHOICES_MAX}`);
  const fields = ['max_tokens', 'max_completion_tokens'].map((field) => positiveInteger(body, field) ?? Infinity);
  const outputTokensMax = Math.min(...fields);
  return Number.isNaN(outputTokensMax) ? invalid('max_tokens') : { ...request, choices, outputTokensMax };
}

/**
 * Returns the prompts or inputs of a body: a string, token numbers, or several of either; undefined
 * for anything else.
 */
function listPrompts(input: unknown): (string | number[])[] | undefined {
  const isTokens = (value: unknown): boolean =>
    Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token));
  const prompts: unknown[] = Array.isArray(input) && !isTokens(input) ? input : [input];
  const areValid = prompts.length > 0 && prompts.every((each) => typeof each === 'string' || isTokens(each));
  return areValid ? (prompts as (string | number[])[]) : undefined;
}

/** Returns the characters of all prompts. */
function countPrompts(prompts: readonly (string | number[])[]): number {
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

function head({ id, createdSeconds: created, model }: Answer, object: string): JsonObject {
  return { id: `${object === 'text_completion' ? 'cmpl' : 'chatcmpl'}-${id}`, object, created, model };
}

function finishReason({ toolName }: Answer): string {
  return toolName === undefined ? 'stop' : 'tool_calls';
}

function toolCall(answer: Answer, text: string): JsonObject {
  return { id: `call_${answer.id}`, type: 'function', function: { name: answer.toolName, arguments: text } };
}

/** `POST /v1/responses`. */
export const responses: Endpoint = {
  format: 'openai',
  read(body) {
    const { input } = body;
    if (typeof input !== 'string' && !Array.isArray(input)) return missing('input');
    const outputTokensMax = positiveInteger(body, 'max_output_tokens');
    if (Number.isNaN(outputTokensMax)) return invalid('max_output_tokens');
    const { promptCharacters, lastText } = measureMessages(typeof input === 'string' ? [{ content: input }] : input);
    const instructions = countCharacters(body['instructions']);
    const toolName = findRequiredTool(body);
    return { lastText, promptCharacters: promptCharacters + instructions, outputTokensMax, toolName };
  },
  plain: (answer) => createResponse(answer, 'completed', [createItem(answer, 'completed')]),
  *events(answer) {
    let sequence_number = 0;
    const event = (type: string, fields: JsonObject): string =>
      formatEvent(`response.${type}`, { sequence_number: sequence_number++, ...fields });
    const response = createResponse(answer, 'in_progress', []);
    yield event('created', { response });
    yield event('in_progress', { response });
    yield event('output_item.added', { output_index: 0, item: createItem(answer, 'in_progress') });
    const item = createItem(answer, 'completed');
    const place = { item_id: item['id'], output_index: 0 };
    if (answer.toolName === undefined) {
      const part = { ...place, content_index: 0 };
      yield event('content_part.added', { ...part, part: textPart('') });
      for (const delta of answer.pieces) yield event('output_text.delta', { ...part, delta, logprobs: [] });
      yield event('output_text.done', { ...part, text: textOf(answer), logprobs: [] });
      yield event('content_part.done', { ...part, part: textPart(textOf(answer)) });
    } else {
      yield event('function_call_arguments.delta', { ...place, delta: '{}' });
      yield event('function_call_arguments.done', { ...place, name: answer.toolName, arguments: '{}' });
    }
    yield event('output_item.done', { output_index: 0, item });
    yield event('completed', { response: createResponse(answer, 'completed', [item]) });
  },
};

type Status = 'in_progress' | 'completed';

function createResponse(answer: Answer, status: Status, output: JsonObject[]): JsonObject {
  const { body } = answer;
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: answer.createdSeconds,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    metadata: body['metadata'] ?? {},
    model: answer.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: 1,
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: 1,
    usage: status === 'completed' ? createUsage(answer, responsesUsage) : null,
  };
}

function responsesUsage({ input, cachedInput, output }: TokenCounts): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cachedInput },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

function createItem(answer: Answer, status: Status): JsonObject {
  const isDone = status === 'completed';
  if (answer.toolName !== undefined) {
    const call = { call_id: `call_${answer.id}`, name: answer.toolName, arguments: isDone ? '{}' : '' };
    return { id: `fc_${answer.id}`, type: 'function_call', status, ...call };
  }
  const content = isDone ? [textPart(textOf(answer))] : [];
  return { id: `msg_${answer.id}`, type: 'message', status, role: 'assistant', content };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** `POST /v1/embeddings`. */
export const embeddings: Endpoint = {
  format: 'openai',
  read(body) {
    const inputs = listPrompts(body['input']);
    if (inputs === undefined || inputs.length > INPUTS_MAX)
      return { message: `'input' must be text or tokens, or at most ${INPUTS_MAX} of them.`, param: 'input' };
    if (!((positiveInteger(body, 'dimensions') ?? 1) <= DIMENSIONS_MAX))
      return invalid('dimensions', ` to ${DIMENSIONS_MAX}`);
    return { lastText: '', promptCharacters: countPrompts(inputs) };
  },
  plain(answer) {
    const { body, model, tokens } = answer;
    const dimensions = positiveInteger(body, 'dimensions') ?? DIMENSIONS_DEFAULT;
    const data = (listPrompts(body['input']) ?? []).map((input, index) => {
      const vector = createVector(input, dimensions);
      const isCoded = body['encoding_format'] === 'base64';
      const embedding = isCoded ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { object: 'embedding', index, embedding };
    });
    const usage = createUsage(answer, () => ({ prompt_tokens: tokens.input, total_tokens: tokens.input }));
    return { object: 'list', data, model, usage };
  },
};

/** Returns a vector of length 1 that depends only on the input. */
function createVector(input: string | number[], dimensions: number): Float32Array {
  let seed = dimensions;
  for (const item of input) seed = (Math.imul(seed, 31) + (typeof item === 'number' ? item : item.charCodeAt(0))) | 0;
  const vector = Float32Array.from({ length: dimensions }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
    return seed / 0x80000000;
  });
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}
