import type { TokenCounts } from '../scripts/script.js';
import { createUsage } from './answer.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from './answer.js';
import { findRequiredTool } from './demanded-tool.js';
import { contentCharacters, measureMessages, positiveInteger } from './prompt-text.js';

/** `POST /v1/responses`. */
export const responses: Endpoint = { format: 'openai', read, plain, events };

function read(body: JsonObject): AnswerRequest | Problem {
  const { input } = body;
  if (typeof input !== 'string' && !Array.isArray(input)) {
    return { message: "Missing required parameter: 'input'.", param: 'input' };
  }
  const outputTokensMax = positiveInteger(body, 'max_output_tokens');
  if (outputTokensMax === 'wrong') {
    return { message: "Invalid 'max_output_tokens': an integer from 1.", param: 'max_output_tokens' };
  }
  const measured =
    typeof input === 'string' ? { promptCharacters: input.length, lastText: input } : measureMessages(input);
  return {
    lastText: measured.lastText,
    promptCharacters: measured.promptCharacters + contentCharacters(body['instructions']),
    choices: 1,
    outputTokensMax,
    toolName: findRequiredTool(body),
  };
}

function plain(answer: Answer): string {
  return JSON.stringify(responseObject(answer, 'completed', [outputItem(answer, 'completed')]));
}

function* events(answer: Answer): Generator<string> {
  let sequence = 0;
  const event = (type: string, fields: JsonObject): string => {
    const data = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    return `event: ${type}\ndata: ${data}\n\n`;
  };
  const started = responseObject(answer, 'in_progress', []);
  yield event('response.created', { response: started });
  yield event('response.in_progress', { response: started });
  yield event('response.output_item.added', { output_index: 0, item: outputItem(answer, 'in_progress') });
  yield* answer.toolName === undefined ? textEvents(answer, event) : toolEvents(answer, event);
  const item = outputItem(answer, 'completed');
  yield event('response.output_item.done', { output_index: 0, item });
  yield event('response.completed', { response: responseObject(answer, 'completed', [item]) });
}

type MakeEvent = (type: string, fields: JsonObject) => string;

function* textEvents(answer: Answer, event: MakeEvent): Generator<string> {
  const place = { item_id: itemId(answer), output_index: 0, content_index: 0 };
  yield event('response.content_part.added', { ...place, part: textPart('') });
  for (const delta of answer.pieces) yield event('response.output_text.delta', { ...place, delta, logprobs: [] });
  const text = answer.pieces.join('');
  yield event('response.output_text.done', { ...place, text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part: textPart(text) });
}

function* toolEvents(answer: Answer, event: MakeEvent): Generator<string> {
  const place = { item_id: itemId(answer), output_index: 0 };
  yield event('response.function_call_arguments.delta', { ...place, delta: '{}' });
  yield event('response.function_call_arguments.done', { ...place, name: answer.toolName, arguments: '{}' });
}

function responseObject(answer: Answer, status: string, output: JsonObject[]): JsonObject {
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

function responsesUsage(tokens: TokenCounts): JsonObject {
  return {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cachedInput },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens.input + tokens.output,
  };
}

function outputItem(answer: Answer, status: 'in_progress' | 'completed'): JsonObject {
  const isDone = status === 'completed';
  if (answer.toolName !== undefined) {
    const call = { call_id: `call_${answer.id}`, name: answer.toolName, arguments: isDone ? '{}' : '' };
    return { id: itemId(answer), type: 'function_call', status, ...call };
  }
  const content = isDone ? [textPart(answer.pieces.join(''))] : [];
  return { id: itemId(answer), type: 'message', status, role: 'assistant', content };
}

function itemId(answer: Answer): string {
  return `${answer.toolName === undefined ? 'msg' : 'fc'}_${answer.id}`;
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}
