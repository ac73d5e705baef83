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

/** `POST /v1/messages`. */
export const messages: Endpoint = {
  format: 'anthropic',
  read(body) {
    const outputTokensMax = positiveInteger(body, 'max_tokens');
    if (outputTokensMax === undefined) return { message: 'max_tokens: Field required' };
    if (Number.isNaN(outputTokensMax)) return { message: 'max_tokens: Input should be an integer from 1' };
    return { ...readPrompt(body), outputTokensMax, toolName: findRequiredTool(body) };
  },
  plain(answer) {
    const content = answer.toolName === undefined ? { type: 'text', text: textOf(answer) } : toolUse(answer);
    return { ...head(answer), content: [content], ...stopOf(answer), usage: createUsage(answer, messagesUsage) };
  },
  *events(answer) {
    const usage = createUsage(answer, messagesUsage);
    // Output counts are cumulative: the first event counts only the first token.
    const first = usage?.['output_tokens'] === undefined ? usage : { ...usage, output_tokens: 1 };
    const message = { ...head(answer), content: [], stop_reason: null, stop_sequence: null, usage: first };
    yield formatEvent('message_start', { message });
    const isText = answer.toolName === undefined;
    const content_block = isText ? { type: 'text', text: '' } : toolUse(answer);
    yield formatEvent('content_block_start', { index: 0, content_block });
    yield formatEvent('ping', {});
    const deltas = isText
      ? answer.pieces.map((text) => ({ type: 'text_delta', text }))
      : [{ type: 'input_json_delta', partial_json: '{}' }];
    for (const delta of deltas) yield formatEvent('content_block_delta', { index: 0, delta });
    yield formatEvent('content_block_stop', { index: 0 });
    yield formatEvent('message_delta', { delta: stopOf(answer), usage });
    yield formatEvent('message_stop', {});
  },
};

/** `POST /v1/messages/count_tokens`: generation fields are neither required nor read. */
export const countTokens: Endpoint = {
  format: 'anthropic',
  read: readPrompt,
  plain: ({ tokens }) => ({ input_tokens: tokens.input }),
};

function readPrompt(body: JsonObject): AnswerRequest | Problem {
  if (!Array.isArray(body['messages'])) return { message: 'messages: Field required' };
  const { promptCharacters, lastText } = measureMessages(body['messages']);
  return { lastText, promptCharacters: promptCharacters + countCharacters(body['system']) };
}

/** Returns the usage of the messages format, which counts the three kinds of input separately. */
function messagesUsage({ input, cachedInput, cacheWrite, output }: TokenCounts): JsonObject {
  return {
    input_tokens: input - cachedInput - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cachedInput,
    output_tokens: output,
  };
}

function head(answer: Answer): JsonObject {
  return { id: `msg_${answer.id}`, type: 'message', role: 'assistant', model: answer.model };
}

function stopOf({ toolName }: Answer): JsonObject {
  return { stop_reason: toolName === undefined ? 'end_turn' : 'tool_use', stop_sequence: null };
}

function toolUse(answer: Answer): JsonObject {
  return { type: 'tool_use', id: `toolu_${answer.id}`, name: answer.toolName, input: {} };
}
