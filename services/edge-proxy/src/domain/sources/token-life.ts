/** A token is replaced after this share of its life, or so long before its end if that is later. */
const REFRESH_SHARE = 0.8;
const REFRESH_BEFORE_END_MS = 300_000;
/**
 * A token counts as ended so long before it ends, at most this share of its life: the request has
 * to arrive, and clocks differ.
 */
const END_MARGIN_MS = 10_000;
const END_MARGIN_SHARE = 0.1;

/** When a token is to be replaced, and until when it is sent; epoch milliseconds. */
export interface TokenLife {
  readonly refreshAtMs: number;
  readonly endsAtMs: number;
}

/** @param expiresAtMs null: it does not end */
export function tokenLife(issuedAtMs: number, expiresAtMs: number | null): TokenLife {
  if (expiresAtMs === null) return { refreshAtMs: Infinity, endsAtMs: Infinity };
  const lifeMs = expiresAtMs - issuedAtMs;
  const refreshAtMs = issuedAtMs + Math.max(lifeMs * REFRESH_SHARE, lifeMs - REFRESH_BEFORE_END_MS);
  return { refreshAtMs, endsAtMs: expiresAtMs - Math.min(END_MARGIN_MS, lifeMs * END_MARGIN_SHARE) };
}
