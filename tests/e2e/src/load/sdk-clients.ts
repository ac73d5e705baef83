import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError as OpenaiError } from 'openai';
import type { Tokens } from '../evidence/evidence.js';
import { CALL_MS_MAX, PlannedAbort } from './reading.js';
import type { ClientRequest, Reading } from './reading.js';

/** Fields of a plain response or of one event that a client reads. */
interface Part {
  readonly text?: string | null | undefined;
  readonly usage?: Tokens | null;
  readonly isLast?: boolean;
}

type Options = { readonly signal: AbortSignal };
type Head = { readonly status: number; readonly headers: Headers | undefined };

interface SdkCall {
  plain(options: Options): Promise<{ response: Head; part: Part }>;
  stream(options: Options): Promise<{ response: Head; parts: AsyncIterable<Part> }>;
}

/** The SDKs' retries are turned off, so that a call is one request. */
const SETTINGS = { maxRetries: 0, timeout: CALL_MS_MAX };
const openaiClient = reuse((edgeUrl, apiKey) => new OpenAI({ apiKey, baseURL: `${edgeUrl}/v1`, ...SETTINGS }));
const anthropicClient = reuse(
  (edgeUrl, apiKey) => new Anthropic({ apiKey, authToken: null, baseURL: edgeUrl, ...SETTINGS }),
);

export function callWithOpenai(request: ClientRequest, reading: Reading): Promise<void> {
  const { completions } = openaiClient(request.place.edgeUrl, request.place.secret).chat;
  const params = paramsOf(request);
  return call(request, reading, {
    async plain(options) {
      const { data, response } = await completions.create(params, options).withResponse();
      return { response, part: { text: data.choices[0]?.message.content, usage: openaiTokens(data.usage) } };
    },
    async stream(options) {
      const streamed = { ...params, stream: true as const, stream_options: { include_usage: true } };
      const { data, response } = await completions.create(streamed, options).withResponse();
      return { response, parts: readChunks(data) };
    },
  });
}

async function* readChunks(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): AsyncGenerator<Part> {
  for await (const { choices, usage } of chunks) {
    yield { text: choices[0]?.delta.content, usage: openaiTokens(usage) };
  }
}

function openaiTokens(usage: OpenAI.CompletionUsage | null | undefined): Tokens | null {
  return usage ? { input: usage.prompt_tokens, output: usage.completion_tokens } : null;
}

export function callWithAnthropic(request: ClientRequest, reading: Reading): Promise<void> {
  const { messages } = anthropicClient(request.place.edgeUrl, request.place.secret);
  const params = paramsOf(request);
  return call(request, reading, {
    async plain(options) {
      const { data, response } = await messages.create(params, options).withResponse();
      const text = data.content[0]?.type === 'text' ? data.content[0].text : '';
      return { response, part: { text, usage: { input: data.usage.input_tokens, output: data.usage.output_tokens } } };
    },
    async stream(options) {
      const { data, response } = await messages.create({ ...params, stream: true }, options).withResponse();
      return { response, parts: readEvents(data) };
    },
  });
}

async function* readEvents(events: AsyncIterable<Anthropic.RawMessageStreamEvent>): AsyncGenerator<Part> {
  let input = 0;
  for await (const event of events) {
    if (event.type === 'message_start') input = event.message.usage.input_tokens;
    if (event.type === 'message_delta') yield { usage: { input, output: event.usage.output_tokens } };
    if (event.type === 'message_stop') yield { isLast: true };
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield { text: event.delta.text };
  }
}

function paramsOf({ place, prompt, maxTokens }: ClientRequest) {
  return { model: place.modelId, messages: [{ role: 'user' as const, content: prompt }], max_tokens: maxTokens };
}

/** Updates `reading` while the response arrives. Rejects if the SDK does. */
async function call({ plan }: ClientRequest, reading: Reading, sdk: SdkCall): Promise<void> {
  const abort = new PlannedAbort(plan, reading);
  const options = { signal: abort.signal };
  try {
    if (!plan.streamed) {
      const { response, part } = await sdk.plain(options);
      readHead(reading, response);
      readPart(reading, { ...part, isLast: true });
      return;
    }
    const { response, parts } = await sdk.stream(options);
    readHead(reading, response);
    for await (const part of parts) {
      readPart(reading, part);
      if (part.text) abort.pieceRead();
    }
    // An SDK's loop also ends without an error if the client itself aborts.
    if (!reading.hasLeft) reading.isWhole = true;
  } catch (error) {
    const isAnswered = error instanceof OpenaiError || error instanceof AnthropicError;
    if (isAnswered && error.status !== undefined) {
      readHead(reading, { status: error.status, headers: error.headers as Headers | undefined });
      reading.code = codeOf(error.error);
    }
    throw error;
  } finally {
    abort.over();
  }
}

function readPart(reading: Reading, { text, usage, isLast }: Part): void {
  reading.text += text ?? '';
  if (usage) reading.usage = usage;
  if (isLast === true) reading.isWhole = true;
}

function readHead(reading: Reading, { status, headers }: Head): void {
  reading.status = status;
  reading.requestId = headers?.get('x-gateway-request-id') ?? null;
}

/** Reads the code of an error body, or of the error inside it: the SDKs differ. */
function codeOf(body: unknown): string | null {
  const { code, error } = (body ?? {}) as { code?: unknown; error?: { code?: unknown } };
  const found = error?.code ?? code;
  return typeof found === 'string' ? found : null;
}

function reuse<Client>(create: (edgeUrl: string, apiKey: string) => Client) {
  const clients = new Map<string, Client>();
  return (edgeUrl: string, apiKey: string): Client => {
    const key = `${edgeUrl} ${apiKey}`;
    const client = clients.get(key) ?? create(edgeUrl, apiKey);
    clients.set(key, client);
    return client;
  };
}
