import type { IdempotencyStore, IdempotentRequest } from '../ports.js';

/** Keeps the answer of a request that holds its key. The first answer stays; a key that is held otherwise is left alone. */
export async function endIdempotent(
  kept: Pick<IdempotencyStore, 'end'>,
  { status, body, ...request }: IdempotentRequest & { readonly status: number; readonly body: string },
): Promise<{ kept: true }> {
  await kept.end(request, status, body);
  return { kept: true };
}
