export interface FailoverFormat {
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses';
  readonly body: object;
  readonly early: string;
  readonly first: string;
  readonly error: string;
  /** An event with incomplete JSON. The stream ends after it. */
  readonly brokenEvent: string;
  readonly finalMarker: string;
  /**
   * Whether the gateway relays a provider's error in a stream unchanged. If not, it sends its own
   * code.
   */
  readonly relaysErrors: boolean;
}

export const PROVIDER_CODE = 'server_error';

const MESSAGES = [{ role: 'user', content: 'hello' }];
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3 } };
const RESPONSE = { id: 'resp_1', status: 'in_progress' };

export const FAILOVER_FORMATS: readonly FailoverFormat[] = [
  {
    path: '/v1/chat/completions',
    body: { messages: MESSAGES },
    early: data({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
    first: data({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' }, finish_reason: null }] }),
    error: data({ error: { message: 'The server had an error.', type: PROVIDER_CODE, code: PROVIDER_CODE } }),
    brokenEvent: 'data: {"choices":[{"index":0,"delta":{"cont',
    finalMarker: 'data: [DONE]',
    relaysErrors: true,
  },
  {
    path: '/v1/messages',
    body: { max_tokens: 2_000, messages: MESSAGES },
    early: event('message_start', { message: MESSAGE }) + event('ping', {}),
    first:
      event('message_start', { message: MESSAGE }) +
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hel' } }),
    error: event('error', { error: { type: 'api_error', message: 'The server had an error.' } }),
    brokenEvent: 'event: content_block_delta\ndata: {"type":"content_block_del',
    finalMarker: 'event: message_stop',
    relaysErrors: false,
  },
  {
    path: '/v1/responses',
    body: { input: 'hello' },
    early: event('response.created', { sequence_number: 0, response: RESPONSE }),
    first:
      event('response.created', { sequence_number: 0, response: RESPONSE }) +
      event('response.output_text.delta', { sequence_number: 1, item_id: 'i', output_index: 0, delta: 'Hel' }),
    error: event('error', { sequence_number: 2, code: PROVIDER_CODE, message: 'The server had an error.' }),
    brokenEvent: 'event: response.output_text.delta\ndata: {"type":"response.output_te',
    finalMarker: 'event: response.completed',
    relaysErrors: true,
  },
];

function event(type: string, fields: object): string {
  return `event: ${type}\n${data({ type, ...fields })}`;
}

function data(fields: object): string {
  return `data: ${JSON.stringify(fields)}\n\n`;
}

/**
 * Returns the code of the error in the last event of a stream, or null if that event is not an
 * error.
 */
export function endingCode(stream: string): string | null {
  const last = stream.split('\n\n').findLast((sseEvent) => sseEvent.includes('data: ')) ?? '';
  const lines = last.split('\n').filter((line) => line.startsWith('data: '));
  try {
    const error = JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n')) as StreamError | null;
    return error?.error?.code ?? error?.code ?? null;
  } catch {
    return null;
  }
}

interface StreamError {
  readonly error?: { readonly code?: string };
  readonly code?: string;
}
