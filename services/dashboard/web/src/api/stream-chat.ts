import type { PlaygroundRequest } from '@gateway/contracts/pages';
import { ApiError, send } from './request.js';

/** Most characters of one event kept in memory. */
const EVENT_CHARS_MAX = 4_000_000;

export interface TurnEvents {
  /** Called with the request's ID in the ledger. */
  started(requestId: string | null): void;
  text(piece: string): void;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly code?: string; readonly message?: string };
}

/**
 * Sends one message of the playground and streams the response. Resolves when the response is
 * complete; rejects with an {@link ApiError} if it is refused or breaks off. `signal` ends the
 * request at the gateway.
 */
export async function streamChat(
  account: string,
  turn: PlaygroundRequest,
  signal: AbortSignal,
  events: TurnEvents,
): Promise<void> {
  const response = await send(`/accounts/${account}/playground`, { method: 'POST', body: turn, signal });
  const requestId = response.headers.get('x-gateway-request-id');
  events.started(requestId);
  if (response.body === null) throw broken(requestId);
  let ended = false;
  for await (const data of readEvents(response.body)) {
    if (data === '[DONE]') {
      ended = true;
      continue;
    }
    const chunk = parseChunk(data);
    if (chunk.error !== undefined) {
      throw new ApiError(chunk.error.code ?? 'upstream_error', chunk.error.message ?? '', 502, requestId);
    }
    const piece = chunk.choices?.[0]?.delta?.content;
    if (typeof piece === 'string' && piece !== '') events.text(piece);
  }
  if (!ended) throw broken(requestId);
}

function parseChunk(data: string): Chunk {
  try {
    return JSON.parse(data) as Chunk;
  } catch {
    return {};
  }
}

function broken(requestId: string | null): ApiError {
  return new ApiError('upstream_timeout', 'The response broke off. It is not billed. Try again.', 504, requestId);
}

/** Yields the `data` of each server-sent event in order, with the lines of an event joined. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
      if (rest.length > EVENT_CHARS_MAX) throw new Error('an event of the response is too long');
      const events = rest.split(/\r?\n\r?\n/);
      rest = events.pop() ?? '';
      for (const event of events) yield* dataOf(event);
    }
    yield* dataOf(rest);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* dataOf(event: string): Generator<string> {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  if (lines.length > 0) yield lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}
