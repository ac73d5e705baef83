import type { ClientHeaders } from '../ports.js';

export type PresentedKey =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  /** Two Bearers, or two of x-api-key: nobody can say which one counts. */
  | { readonly kind: 'ambiguous' };

const BEARER = /^bearer(?=[ \t])/i;

/**
 * The key that a request presents (specification, Authentication): a Bearer wins over x-api-key;
 * another scheme is ignored and an empty Bearer counts as absent.
 */
export function presentedKey(headers: ClientHeaders): PresentedKey {
  if (headers.hasTwoAuthorizations) return { kind: 'ambiguous' };
  const bearer = headers.authorization === null ? '' : bearerIn(headers.authorization);
  if (bearer !== '') return { kind: 'key', key: bearer };
  if (headers.hasTwoApiKeys) return { kind: 'ambiguous' };
  const apiKey = headers.apiKey?.trim() ?? '';
  return apiKey === '' ? { kind: 'missing' } : { kind: 'key', key: apiKey };
}

/** What follows `Bearer`; empty when there is nothing, or another scheme. */
export function bearerIn(authorization: string): string {
  return BEARER.test(authorization) ? authorization.slice('bearer'.length).trim() : '';
}
