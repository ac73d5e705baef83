import type { PlaygroundRequest } from '@gateway/contracts/pages';
import { ApiError, send } from './request.js';
import { readEvents } from './read-events.js';

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
 * One turn of the playground, piece by piece. Resolves when the answer ended properly; a refusal, or an answer that broke, is
 * an {@link ApiError}. `signal` stops the call at the gateway.
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
