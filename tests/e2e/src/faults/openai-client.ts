import OpenAI, { APIError } from 'openai';
import { CALL_MS_MAX, Going } from './reading.js';
import type { ClientRequest, Reading } from './reading.js';

const clients = new Map<string, OpenAI>();

/**
 * Sends a request with the official OpenAI SDK. Its retries are turned off, so that a call is one
 * request.
 */
export async function callWithOpenai(
  { plan, place, prompt, maxTokens }: ClientRequest,
  reading: Reading,
): Promise<void> {
  const going = new Going(plan, reading);
  const params = {
    model: place.modelId,
    messages: [{ role: 'user' as const, content: prompt }],
    max_tokens: maxTokens,
  };
  const completions = clientOf(place.edgeUrl, place.secret).chat.completions;
  try {
    if (!plan.streamed) {
      const { data, response } = await completions.create(params, { signal: going.signal }).withResponse();
      readHead(reading, response);
      reading.text = data.choices[0]?.message.content ?? '';
      reading.usage = data.usage ? { input: data.usage.prompt_tokens, output: data.usage.completion_tokens } : null;
      reading.isWhole = true;
      return;
    }
    const streamed = { ...params, stream: true as const, stream_options: { include_usage: true } };
    const { data, response } = await completions.create(streamed, { signal: going.signal }).withResponse();
    readHead(reading, response);
    for await (const { choices, usage } of data) {
      const piece = choices[0]?.delta.content;
      if (piece) {
        reading.text += piece;
        going.pieceRead();
      }
      if (usage) reading.usage = { input: usage.prompt_tokens, output: usage.completion_tokens };
    }
    // The SDK's loop also ends without an error if the client itself aborts.
    reading.isWhole = !reading.hasLeft;
  } catch (error) {
    if (error instanceof APIError && error.status !== undefined) {
      readHead(reading, { status: error.status, headers: error.headers });
      reading.code = error.code ?? null;
    }
    throw error;
  } finally {
    going.over();
  }
}

function readHead(reading: Reading, { status, headers }: { status: number; headers: Headers | undefined }): void {
  reading.status = status;
  reading.requestId = headers?.get('x-gateway-request-id') ?? null;
}

function clientOf(edgeUrl: string, apiKey: string): OpenAI {
  const key = `${edgeUrl} ${apiKey}`;
  const client =
    clients.get(key) ?? new OpenAI({ apiKey, baseURL: `${edgeUrl}/v1`, maxRetries: 0, timeout: CALL_MS_MAX });
  clients.set(key, client);
  return client;
}
