/** The header under which a client names a request that may come twice. */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const CHARS_MAX = 255;
export const IDEMPOTENCY_KEY_RULE = `${IDEMPOTENCY_KEY}: 1 to ${CHARS_MAX} printable characters`;

export function isIdempotencyKey(text: string): boolean {
  return /^[\x20-\x7e]+$/.test(text) && text.length <= CHARS_MAX;
}
