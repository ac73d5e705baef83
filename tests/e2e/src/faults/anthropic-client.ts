import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { CALL_MS_MAX, Going } from './reading.js';
import type { ClientRequest, Reading } from './reading.js';

const clients = new Map<string, Anthropic>();

/** Sends a request with the official Anthropic SDK. Only its retries are turned off. */
export async function callWithAnthropic(
  { plan, place, prompt, maxTokens }: ClientRequest,
  reading: Reading,
): Promise<void> {
  const going = new Going(plan, reading);
  const params = {
    model: place.modelId,
    messages: [{ role: 'user' as const, content: prompt }],
    max_tokens: maxTokens,
  };
  const { messages } = clientOf(place.edgeUrl, place.secret);
  try {
    if (!plan.streamed) {
      const { data, response } = await messages.create(params, { signal: going.signal }).withResponse();
      readHead(reading, response);
      reading.text = data.content[0]?.type === 'text' ? data.content[0].text : '';
      reading.usage = { input: data.usage.input_tokens, output: data.usage.output_tokens };
      reading.isWhole = true;
      return;
    }
    const { data, response } = await messages
      .create({ ...params, stream: true }, { signal: going.signal })
      .withResponse();
    readHead(reading, response);
    let input = 0;
    for await (const event of data) {
      if (event.type === 'message_start') input = event.message.usage.input_tokens;
      if (event.type === 'message_delta') reading.usage = { input, output: event.usage.output_tokens };
      if (event.type === 'message_stop') reading.isWhole = true;
      if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') continue;
      reading.text += event.delta.text;
      going.pieceRead();
    }
    // The SDK's loop ends without an error only if the stream is complete or was aborted.
    if (!reading.hasLeft) reading.isWhole = true;
  } catch (error) {
    if (error instanceof APIError && error.status !== undefined) {
      readHead(reading, { status: error.status, headers: error.headers as Headers | undefined });
      reading.code = codeOf(error.error);
    }
    throw error;
  } finally {
    going.over();
  }
}

function codeOf(body: unknown): string | null {
  const code = (body as { error?: { code?: unknown } } | undefined)?.error?.code;
  return typeof code === 'string' ? code : null;
}

function readHead(reading: Reading, { status, headers }: { status: number; headers: Headers | undefined }): void {
  reading.status = status;
  reading.requestId = headers?.get('x-gateway-request-id') ?? null;
}

function clientOf(edgeUrl: string, apiKey: string): Anthropic {
  const key = `${edgeUrl} ${apiKey}`;
  const options = { apiKey, authToken: null, baseURL: edgeUrl, maxRetries: 0, timeout: CALL_MS_MAX };
  const client = clients.get(key) ?? new Anthropic(options);
  clients.set(key, client);
  return client;
}
