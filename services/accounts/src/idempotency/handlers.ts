import { accountsBeginIdempotent, accountsEndIdempotent, IDEMPOTENCY_HOURS } from '@gateway/contracts/messages';
import type { Handlers } from '../base/serve.js';
import type { IdempotencyStore, IdempotentRequest } from './store.js';

export interface BeginIdempotentDeps {
  readonly idempotency: Pick<IdempotencyStore, 'begin'>;
  /** A new UUIDv7. */
  readonly makeCommand: () => string;
  readonly nowMs: () => number;
}
export type Begun =
  { kind: 'begun'; command: string } | { kind: 'done'; status: number; body: string } | { kind: 'conflict' };

const KEPT_MS = IDEMPOTENCY_HOURS * 3_600_000;

/**
 * Holds an idempotency key of an operator for one request. The same request again gets the answer,
 * or while there is none the same command, under which nothing is made twice. After 24 hours the
 * key is free again.
 */
export async function beginIdempotent(
  { idempotency, makeCommand, nowMs }: BeginIdempotentDeps,
  request: IdempotentRequest,
): Promise<Begun> {
  const now = nowMs();
  const held = await idempotency.begin(request, makeCommand(), now, now - KEPT_MS);
  if (held.fingerprint !== request.fingerprint) return { kind: 'conflict' };
  return held.answer ? { kind: 'done', ...held.answer } : { kind: 'begun', command: held.command };
}

/**
 * Keeps the answer of a request that holds its key. The first answer stays; a key that is held
 * otherwise is left alone.
 */
export async function endIdempotent(
  idempotency: Pick<IdempotencyStore, 'end'>,
  { status, body, ...request }: IdempotentRequest & { readonly status: number; readonly body: string },
): Promise<{ kept: true }> {
  await idempotency.end(request, status, body);
  return { kept: true };
}

/** Serves the requests about idempotency keys. */
export function serveIdempotency(
  { change }: Handlers,
  deps: BeginIdempotentDeps & { readonly idempotency: IdempotencyStore },
): void {
  change(accountsBeginIdempotent, (body) => beginIdempotent(deps, body));
  change(accountsEndIdempotent, (body) => endIdempotent(deps.idempotency, body));
}
