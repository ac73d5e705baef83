import type { TokenCounts } from '../scripts/script.js';
import {
  type Answer,
  type Endpoint,
  type JsonObject,
  countCharacters,
  createUsage,
  findRequiredTool,
  formatEvent,
  measureMessages,
  positiveInteger,
  textOf,
} from './answer.js';

/** `POST /v1/responses`. */
export const responses: Endpoint = {
  format: 'openai',
  read(body) {
    const { input } = body;
    if (typeof input !== 'string' && !Array.isArray(input))
      return { message: "Missing required parameter: 'input'.", param: 'input' };
    const outputTokensMax = positiveInteger(body, 'max_output_tokens');
    if (Number.isNaN(outputTokensMax))
      return { message: "Invalid 'max_output_tokens': an integer from 1.", param: 'max_output_tokens' };
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
    const place = { item_id: itemId(answer), output_index: 0 };
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
    const item = createItem(answer, 'completed');
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
    return { id: itemId(answer), type: 'function_call', status, ...call };
  }
  const content = isDone ? [textPart(textOf(answer))] : [];
  return { id: itemId(answer), type: 'message', status, role: 'assistant', content };
}

function itemId(answer: Answer): string {
  return `${answer.toolName === undefined ? 'msg' : 'fc'}_${answer.id}`;
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}
