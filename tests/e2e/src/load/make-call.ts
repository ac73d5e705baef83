import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { text as textIn } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { within } from '@gateway/service-kit';
import OpenAI, { APIError as OpenaiError } from 'openai';
import type { ClientCall, ModelOfRun, Tokens } from '../evidence/evidence.js';
import { type CallPlan, piecesOf, promptOf } from './call-plan.js';

export interface CallPlace {
  readonly account: string;
  readonly secret: string;
  readonly edgeUrl: string;
  readonly edge: number;
  readonly model: ModelOfRun;
  readonly modelId: string;
}

const CALL_MS_MAX = 90_000;
/** Time that a client has to notice the end of its call. After that the call is abandoned. */
const UNNOTICED_MS = 5_000;
/** Tokens that `max_tokens` allows above the number that the provider reports. */
const TOKENS_ABOVE = 8;

/**
 * The response as far as a client has read it. It is updated while the client reads, so that it is
 * also available after an error.
 */
interface Reading {
  requestId: string | null;
  status: number | null;
  code: string | null;
  text: string;
  usage: Tokens | null;
  /** The final event or the end of the body was read. */
  isWhole: boolean;
  hasLeft: boolean;
}

/** Makes one call as planned and returns what its client saw. Never rejects. */
export async function makeCall(plan: CallPlan, place: CallPlace): Promise<ClientCall> {
  const nothing = { requestId: null, status: null, code: null, text: '', usage: null };
  const reading: Reading = { ...nothing, isWhole: false, hasLeft: false };
  const begunAt = Date.now();
  await within(read(plan, place, reading), CALL_MS_MAX + UNNOTICED_MS).catch(() => undefined);
  const { n, client, streamed } = plan;
  const { account, model, edge } = place;
  const { requestId, status, code, usage } = reading;
  const expected = piecesOf(plan).join('');
  const text = reading.text === expected ? 'all' : expected.startsWith(reading.text) ? 'beginning' : 'other';
  const seen = { requestId, status, code, usage, ending: endingOf(reading), text } as const;
  return { n, account, model, edge, client, streamed, ...seen, begunAt, endedAt: Date.now() };
}

function endingOf({ status, isWhole, hasLeft }: Reading): ClientCall['ending'] {
  if (status !== null && status !== 200) return 'refused';
  if (isWhole) return 'whole';
  return hasLeft ? 'left' : 'cut';
}

/** Fields of a plain response or of one event that a client reads. */
interface Part {
  readonly text?: string | null | undefined;
  readonly usage?: Tokens | null;
  readonly isLast?: boolean;
}

interface Answer {
  readonly status: number;
  readonly requestId: string | null;
  /** Code of an error. */
  readonly code?: string | null;
  readonly parts: AsyncIterable<Part> | Iterable<Part>;
}

interface Request {
  readonly plan: CallPlan;
  readonly place: CallPlace;
  /** The same for each client. */
  readonly params: { model: string; messages: { role: 'user'; content: string }[]; max_tokens: number };
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  readonly leave: () => void;
}

/** Sends the request, updates `reading` while the response arrives, and disconnects as planned. */
async function read(plan: CallPlan, place: CallPlace, reading: Reading): Promise<void> {
  const abort = new AbortController();
  const leave = (): void => {
    reading.hasLeft = true;
    abort.abort();
  };
  // `AbortSignal.timeout()` would keep each call in memory until the timeout.
  const timers = [setTimeout(() => abort.abort(), CALL_MS_MAX)];
  if (plan.leaves === 'at_once') timers.push(setTimeout(leave, plan.pauseMs));
  const messages: Request['params']['messages'] = [{ role: 'user', content: promptOf(plan, place.model) }];
  const params = { model: place.modelId, messages, max_tokens: plan.n + TOKENS_ABOVE };
  try {
    const answer = await CLIENTS[plan.client]({ plan, place, params, signal: abort.signal, leave }).catch(errorAnswer);
    const { status, requestId, code = null, parts } = answer;
    Object.assign(reading, { status, requestId, code });
    let pieces = 0;
    for await (const { text, usage, isLast } of parts) {
      reading.text += text ?? '';
      if (usage) reading.usage = usage;
      if (isLast === true) reading.isWhole = true;
      if (text) pieces += 1;
      if (plan.leaves === 'midway' && pieces * 2 >= plan.pieces) leave();
    }
    // An SDK's loop also ends without an error if the client itself aborts.
    if (!reading.hasLeft) reading.isWhole = true;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

const STREAM = { stream: true, stream_options: { include_usage: true } } as const;

const CLIENTS: Readonly<Record<CallPlan['client'], (request: Request) => Promise<Answer>>> = {
  async openai({ plan, place, params, signal }) {
    const { completions } = sdksOf(place).openai.chat;
    if (plan.streamed) {
      const { data, response } = await completions.create({ ...params, ...STREAM }, { signal }).withResponse();
      return { ...headOf(response.status, response.headers), parts: readChunks(data) };
    }
    const { data, response } = await completions.create(params, { signal }).withResponse();
    return { ...headOf(response.status, response.headers), parts: [{ ...partOf(data), isLast: true }] };
  },
  async anthropic({ plan, place, params, signal }) {
    const { messages } = sdksOf(place).anthropic;
    if (plan.streamed) {
      const { data, response } = await messages.create({ ...params, stream: true }, { signal }).withResponse();
      return { ...headOf(response.status, response.headers), parts: readEvents(data) };
    }
    const { data, response } = await messages.create(params, { signal }).withResponse();
    const text = data.content[0]?.type === 'text' ? data.content[0].text : '';
    const usage = { input: data.usage.input_tokens, output: data.usage.output_tokens };
    return { ...headOf(response.status, response.headers), parts: [{ text, usage, isLast: true }] };
  },
  /** Uses a new connection. No SDK can send half a request, read slowly or reset the connection. */
  async http({ plan, place, params, signal, leave }) {
    const body = JSON.stringify(plan.streamed ? { ...params, ...STREAM } : params);
    const request = httpRequest(`${place.edgeUrl}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${place.secret}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    request.on('error', () => undefined);
    const disconnect = (): void => {
      // Half of the clients reset the connection like a crashed process, the others close it.
      if (plan.n % 4 < 2 || request.socket?.connecting !== false) request.destroy();
      else request.socket.resetAndDestroy();
    };
    signal.addEventListener('abort', disconnect, { once: true });
    if (plan.leaves === 'half_sent') request.write(body.slice(0, body.length / 2), leave);
    else request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const head = { status: response.statusCode ?? 0, requestId: requestIdIn(response) };
    if (head.status === 200) return { ...head, parts: readHttp(response, plan) };
    const error: unknown = await textIn(response)
      .then(JSON.parse)
      .catch(() => null);
    return { ...head, code: codeOf(error), parts: [] };
  },
};

function requestIdIn({ headers }: IncomingMessage): string | null {
  const id = headers['x-gateway-request-id'];
  return typeof id === 'string' ? id : null;
}

function headOf(status: number, headers: Headers | undefined): Pick<Answer, 'status' | 'requestId'> {
  return { status, requestId: headers?.get('x-gateway-request-id') ?? null };
}

function errorAnswer(error: unknown): Answer {
  const isAnswered = error instanceof OpenaiError || error instanceof AnthropicError;
  if (!isAnswered || error.status === undefined) throw error;
  const head = headOf(error.status as number, error.headers as Headers | undefined);
  return { ...head, code: codeOf(error.error), parts: [] };
}

/** Reads the code of an error body, or of the error inside it: the SDKs differ. */
function codeOf(body: unknown): string | null {
  const { code, error } = (body ?? {}) as { code?: unknown; error?: { code?: unknown } };
  const found = error?.code ?? code;
  return typeof found === 'string' ? found : null;
}

/** The fields of a chat completion or of one of its chunks that a client reads. */
interface ChatAnswer {
  readonly choices?: readonly {
    readonly message?: { readonly content?: string | null };
    readonly delta?: { readonly content?: string | null };
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

function partOf({ choices: [choice] = [], usage }: ChatAnswer): Part {
  return {
    text: choice?.message?.content ?? choice?.delta?.content,
    usage: usage ? { input: usage.prompt_tokens, output: usage.completion_tokens } : null,
  };
}

async function* readChunks(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): AsyncGenerator<Part> {
  for await (const chunk of chunks) yield partOf(chunk);
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

const SLOW_PAUSE_MS = 25;

/** Rejects if the connection breaks before the end of the body. */
async function* readHttp(response: IncomingMessage, { streamed, isSlow }: CallPlan): AsyncGenerator<Part> {
  if (!streamed) {
    yield { ...partOf(JSON.parse(await textIn(response)) as ChatAnswer), isLast: true };
    return;
  }
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const sseEvents = `${rest}${chunk as string}`.split('\n\n');
    rest = sseEvents.pop() ?? '';
    for (const sseEvent of sseEvents) {
      if (sseEvent === 'data: [DONE]') yield { isLast: true };
      else if (sseEvent.startsWith('data: {')) yield partOf(JSON.parse(sseEvent.slice('data: '.length)) as ChatAnswer);
    }
    if (isSlow) await delay(SLOW_PAUSE_MS);
  }
}

const sdks = new Map<string, { readonly openai: OpenAI; readonly anthropic: Anthropic }>();

/** Returns clients for an edge and a key. Without retries, a call is one request. */
function sdksOf({ edgeUrl, secret: apiKey }: CallPlace) {
  const settings = { apiKey, maxRetries: 0, timeout: CALL_MS_MAX };
  const known = sdks.get(`${edgeUrl} ${apiKey}`);
  const found = known ?? {
    openai: new OpenAI({ baseURL: `${edgeUrl}/v1`, ...settings }),
    anthropic: new Anthropic({ authToken: null, baseURL: edgeUrl, ...settings }),
  };
  sdks.set(`${edgeUrl} ${apiKey}`, found);
  return found;
}
