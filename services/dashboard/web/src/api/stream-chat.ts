import type { PlaygroundRequest } from '@gateway/contracts/pages';
import { ApiError, send } from './request.js';

/** The longest single event that is kept in memory. */
const EVENT_CHARS_MAX = 4_000_000;

export interface TurnEvents {
  /** The id under which the turn stands in the ledger. */
  started(requestId: string | null): void;
  text(piece: string): void;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly code?: string; readonly message?: string };
}

/**
 * One turn of the playground, piece by piece. Resolves when the answer ended properly; a refusal,
 * or an answer that broke, is an {@link ApiError}. `signal` stops the call at the gateway.
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
  return new ApiError('upstream_timeout', 'The answer broke off before its end. It is not billed.', 504, requestId);
}

/** The `data` of each event of a server-sent stream, in order; lines of one event are joined. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
      if (rest.length > EVENT_CHARS_MAX) throw new Error('an event of the answer is too long');
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
