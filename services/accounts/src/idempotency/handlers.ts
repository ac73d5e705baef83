import { accountsBeginIdempotent, accountsEndIdempotent, IDEMPOTENCY_HOURS } from '@gateway/contracts/messages';
import type { Handlers } from '../base/serve.js';
import type { IdempotencyStore, IdempotentRequest } from './store.js';

export interface BeginIdempotentDeps {
  readonly idempotency: Pick<IdempotencyStore, 'begin'>;
  /** A new UUIDv7. */
  readonly makeCommand: () => string;
  readonly nowMs: () => number;
}
export type BeginResult =
  | { kind: 'begun'; command: string }
  | { kind: 'done'; status: number; body: string }
  | { kind: 'conflict' };

const KEPT_MS = IDEMPOTENCY_HOURS * 3_600_000;

/**
 * Reserves an operator's idempotency key for one request. A repeated request gets the response.
 * Without a response yet, it gets the same command, which cannot create an object twice. The key is
 * free again after 24 hours.
 */
export async function beginIdempotent(
  { idempotency, makeCommand, nowMs }: BeginIdempotentDeps,
  request: IdempotentRequest,
): Promise<BeginResult> {
  const now = nowMs();
  const held = await idempotency.begin(request, makeCommand(), now, now - KEPT_MS);
  if (held.fingerprint !== request.fingerprint) return { kind: 'conflict' };
  return held.answer ? { kind: 'done', ...held.answer } : { kind: 'begun', command: held.command };
}

/**
 * Stores the response of the request that holds the key. The first response is kept, and a key of
 * another request is not changed.
 */
export async function endIdempotent(
  idempotency: Pick<IdempotencyStore, 'end'>,
  { status, body, ...request }: IdempotentRequest & { readonly status: number; readonly body: string },
): Promise<{ stored: true }> {
  await idempotency.end(request, status, body);
  return { stored: true };
}

/** Registers the handlers of idempotency requests. */
export function serveIdempotency(
  { change }: Handlers,
  deps: BeginIdempotentDeps & { readonly idempotency: IdempotencyStore },
): void {
  change(accountsBeginIdempotent, (body) => beginIdempotent(deps, body));
  change(accountsEndIdempotent, (body) => endIdempotent(deps.idempotency, body));
}
