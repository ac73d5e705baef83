/** A format of calls: how one is sent, how a provider writes it, and how its end is told. */
export interface FailoverFormat {
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses';
  /** What a call asks, without its model. */
  readonly body: object;
  /** The first events of a stream, which show nothing of an answer. */
  readonly early: string;
  /** The first events of a stream, to one that shows an answer. */
  readonly first: string;
  /** The provider's error as an event of a stream. */
  readonly error: string;
  /** An event whose JSON breaks off; nothing follows it. */
  readonly brokenEvent: string;
  /** In the text of a whole stream. */
  readonly finalMarker: string;
  /** A provider's error inside a stream goes on as it is, else with our code. */
  readonly relaysErrors: boolean;
}

/** Of the error that scripted providers tell inside an answer. */
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

/** The code of the error that is the last event of a stream; null: the last one is none. */
export function endingCode(stream: string): string | null {
  const last = stream.split('\n\n').findLast((sseEvent) => sseEvent.includes('data: ')) ?? '';
  const lines = last.split('\n').filter((line) => line.startsWith('data: '));
  try {
    const said = JSON.parse(lines.map((line) => line.slice('data: '.length)).join('\n')) as Said | null;
    return said?.error?.code ?? said?.code ?? null;
  } catch {
    return null;
  }
}

interface Said {
  readonly error?: { readonly code?: string };
  readonly code?: string;
}
