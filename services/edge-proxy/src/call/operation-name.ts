import type { EndpointRow } from '../domain/endpoints.js';

/**
 * What the endpoints do, in the words of the semantic conventions for generative AI; counting has
 * no word there.
 */
export const OPERATIONS = ['chat', 'text_completion', 'embeddings', 'count_tokens'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The name that the semantic conventions for generative AI have for what an endpoint does. */
export function operationOf({ kind, format }: Pick<EndpointRow, 'kind' | 'format'>): Operation {
  if (kind === 'embedding') return 'embeddings';
  if (format === 'token_count') return 'count_tokens';
  return format === 'completion' ? 'text_completion' : 'chat';
}
