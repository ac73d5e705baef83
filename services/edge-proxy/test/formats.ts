/** The same small request and stream in each format, for tests that apply to all of them. */
export interface Format {
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses';
  readonly request: (fields: Record<string, unknown>) => { headers: Record<string, string>; body: string };
  /** The first events of a stream, up to the first one with text. */
  readonly first: string;
  /** Returns an event with text. */
  readonly delta: (text: string) => string;
  /** An event with the usage (input 3, output 5), before the final marker. */
  readonly usage: string;
  readonly done: string;
  /** Matches the end of a cut stream. */
  readonly cutEnding: RegExp;
  readonly cutEndsNormally: boolean;
  /** The provider's error event inside a stream. */
  readonly providerError: string;
  /** Whether it is relayed. Otherwise an error of the gateway replaces it. */
  readonly relaysErrors: boolean;
}

const json = { 'content-type': 'application/json' };
const event = (name: string, fields: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`;
const data = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const user = [{ role: 'user', content: 'Say something.' }];

export const FORMATS: readonly Format[] = [
  {
    path: '/v1/chat/completions',
    request: (fields) => ({ headers: json, body: JSON.stringify({ messages: user, ...fields }) }),
    first: data({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' }, finish_reason: null }] }),
    delta: (content) => data({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
    usage: data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } }),
    done: 'data: [DONE]\n\n',
    cutEnding: /^data: \{"error":.*\}\n\n$/,
    cutEndsNormally: false,
    providerError: data({ error: { message: 'overloaded', type: 'server_error' } }),
    relaysErrors: true,
  },
  {
    path: '/v1/messages',
    request: (fields) => ({ headers: json, body: JSON.stringify({ max_tokens: 50, messages: user, ...fields }) }),
    first:
      event('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      }) + event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hel' } }),
    delta: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    usage: event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
    done: event('message_stop', {}),
    cutEnding: /^event: error\ndata: .*\n\n$/,
    cutEndsNormally: false,
    providerError: event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    relaysErrors: false,
  },
  {
    path: '/v1/responses',
    request: (fields) => ({ headers: json, body: JSON.stringify({ input: 'Say something.', ...fields }) }),
    first:
      event('response.created', { sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } }) +
      event('response.output_item.added', { sequence_number: 1, output_index: 0, item: { type: 'message', id: 'i' } }) +
      event('response.output_text.delta', { sequence_number: 1, item_id: 'i', output_index: 0, delta: 'Hel' }),
    delta: (delta) => event('response.output_text.delta', { sequence_number: 2, item_id: 'i', output_index: 0, delta }),
    usage: '',
    done: event('response.completed', {
      sequence_number: 3,
      response: { id: 'resp_1', status: 'completed', usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 } },
    }),
    cutEnding: /^event: response\.failed\ndata: .*\n\nevent: error\ndata: .*\n\n$/,
    cutEndsNormally: true,
    providerError: event('error', { sequence_number: 2, code: 'server_error', message: 'overloaded' }),
    relaysErrors: true,
  },
];
