import type { TokenCounts } from '../scripts/script.js';
import { createUsage } from './answer.js';
import type { Answer, AnswerRequest, Endpoint, JsonObject, Problem } from './answer.js';
import { findRequiredTool } from './demanded-tool.js';
import { contentCharacters, measureMessages, positiveInteger } from './prompt-text.js';

/** `POST /v1/messages`. */
export const messages: Endpoint = { format: 'anthropic', read, plain, events };

/** `POST /v1/messages/count_tokens`: generation fields are neither required nor read. */
export const countTokens: Endpoint = { format: 'anthropic', read: readPrompt, plain: plainCount, events: undefined };

function read(body: JsonObject): AnswerRequest | Problem {
  const outputTokensMax = positiveInteger(body, 'max_tokens');
  if (outputTokensMax === undefined) return { message: 'max_tokens: Field required', param: null };
  if (outputTokensMax === 'wrong') return { message: 'max_tokens: Input should be an integer from 1', param: null };
  const request = readPrompt(body);
  return 'message' in request ? request : { ...request, outputTokensMax, toolName: findRequiredTool(body) };
}

function readPrompt(body: JsonObject): AnswerRequest | Problem {
  if (!Array.isArray(body['messages'])) return { message: 'messages: Field required', param: null };
  const { promptCharacters, lastText } = measureMessages(body['messages']);
  return {
    lastText,
    promptCharacters: promptCharacters + contentCharacters(body['system']),
    choices: 1,
    outputTokensMax: undefined,
    toolName: undefined,
  };
}

function plainCount(answer: Answer): string {
  return JSON.stringify({ input_tokens: answer.tokens.input });
}

function plain(answer: Answer): string {
  const content = answer.toolName === undefined ? [{ type: 'text', text: answer.pieces.join('') }] : [toolUse(answer)];
  return JSON.stringify({
    ...head(answer),
    content,
    stop_reason: stopReason(answer),
    stop_sequence: null,
    usage: createUsage(answer, messagesUsage),
  });
}

function* events(answer: Answer): Generator<string> {
  const usage = createUsage(answer, messagesUsage);
  // Output counts are cumulative: the first event counts only the first token.
  const first = usage === undefined || usage['output_tokens'] === undefined ? usage : { ...usage, output_tokens: 1 };
  const message = { ...head(answer), content: [], stop_reason: null, stop_sequence: null, usage: first };
  yield sseEvent('message_start', { message });
  if (answer.toolName === undefined) {
    yield sseEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
    yield sseEvent('ping', {});
    for (const piece of answer.pieces) yield deltaEvent('{"type":"text_delta","text":', piece);
  } else {
    yield sseEvent('content_block_start', { index: 0, content_block: toolUse(answer) });
    yield sseEvent('ping', {});
    yield deltaEvent('{"type":"input_json_delta","partial_json":', '{}');
  }
  yield sseEvent('content_block_stop', { index: 0 });
  yield sseEvent('message_delta', { delta: { stop_reason: stopReason(answer), stop_sequence: null }, usage });
  yield sseEvent('message_stop', {});
}

/** Returns the usage of the messages format, which counts the three kinds of input separately. */
function messagesUsage(tokens: TokenCounts): JsonObject {
  return {
    input_tokens: tokens.input - tokens.cachedInput - tokens.cacheWrite,
    cache_creation_input_tokens: tokens.cacheWrite,
    cache_read_input_tokens: tokens.cachedInput,
    output_tokens: tokens.output,
  };
}

function head(answer: Answer): JsonObject {
  return { id: `msg_${answer.id}`, type: 'message', role: 'assistant', model: answer.model };
}

function stopReason(answer: Answer): string {
  return answer.toolName === undefined ? 'end_turn' : 'tool_use';
}

function toolUse(answer: Answer): JsonObject {
  return { type: 'tool_use', id: `toolu_${answer.id}`, name: answer.toolName, input: {} };
}

function sseEvent(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function deltaEvent(start: string, text: string): string {
  const delta = `${start}${JSON.stringify(text)}}`;
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":${delta}}\n\n`;
}
