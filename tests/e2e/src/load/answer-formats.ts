import type { Tokens } from '../evidence/evidence.js';

export interface AnswerFormat {
  plain(text: string, tokens: Tokens): string;
  /** Parts of a stream: its start, one text chunk, and everything after the last chunk. */
  begin(tokens: Tokens): string;
  piece(text: string): string;
  end(tokens: Tokens): string;
}

const chat: AnswerFormat = {
  plain: (text, tokens) =>
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 0,
      model: 'planned',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage: chatUsage(tokens),
    }),
  begin: () => '',
  piece: (text) => chatEvent([{ index: 0, delta: { content: text }, finish_reason: null }]),
  end: (tokens) =>
    chatEvent([{ index: 0, delta: {}, finish_reason: 'stop' }]) + chatEvent([], chatUsage(tokens)) + 'data: [DONE]\n\n',
};

const messages: AnswerFormat = {
  plain: (text, tokens) =>
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'planned',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: messagesUsage(tokens),
    }),
  begin: (tokens) =>
    messagesEvent('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'planned',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...messagesUsage(tokens), output_tokens: 1 },
      },
    }) + messagesEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  piece: (text) => messagesEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end: (tokens) =>
    messagesEvent('content_block_stop', { index: 0 }) +
    messagesEvent('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: messagesUsage(tokens),
    }) +
    messagesEvent('message_stop', {}),
};

export const ANSWER_FORMATS: Readonly<Record<string, AnswerFormat>> = {
  '/v1/chat/completions': chat,
  '/v1/messages': messages,
};

function chatUsage({ input, output }: Tokens): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function chatEvent(choices: readonly object[], usage?: object): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'planned' };
  return `data: ${JSON.stringify({ ...head, choices, ...(usage === undefined ? {} : { usage }) })}\n\n`;
}

function messagesUsage({ input, output }: Tokens): { input_tokens: number; output_tokens: number } {
  return { input_tokens: input, output_tokens: output };
}

function messagesEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
