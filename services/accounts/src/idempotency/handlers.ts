import { IDEMPOTENCY_HOURS } from '@gateway/contracts/messages';
import type { IdempotencyStore, IdempotentRequest } from '../ports.js';

export interface BeginIdempotentPorts {
  readonly kept: Pick<IdempotencyStore, 'begin'>;
  /** A new UUIDv7. */
  readonly makeCommand: () => string;
  readonly nowMs: () => number;
}
export type Begun =
  { kind: 'begun'; command: string } | { kind: 'done'; status: number; body: string } | { kind: 'conflict' };

export const KEPT_MS = IDEMPOTENCY_HOURS * 3_600_000;

/**
 * Holds an idempotency key of an operator for one request. The same request again gets the answer, or while there is none the
 * same command, under which nothing is made twice. After 24 hours the key is free again.
 */
export async function beginIdempotent(
  { kept, makeCommand, nowMs }: BeginIdempotentPorts,
  request: IdempotentRequest,
): Promise<Begun> {
  const now = nowMs();
  const held = await kept.begin(request, makeCommand(), now, now - KEPT_MS);
  if (held.fingerprint !== request.fingerprint) return { kind: 'conflict' };
  return held.answer ? { kind: 'done', ...held.answer } : { kind: 'begun', command: held.command };
}

/** Keeps the answer of a request that holds its key. The first answer stays; a key that is held otherwise is left alone. */
export async function endIdempotent(
  kept: Pick<IdempotencyStore, 'end'>,
  { status, body, ...request }: IdempotentRequest & { readonly status: number; readonly body: string },
): Promise<{ kept: true }> {
  await kept.end(request, status, body);
  return { kept: true };
}
