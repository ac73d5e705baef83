/** Request header with the client's key for a request that it may repeat. */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const CHARS_MAX = 255;
/** A header value does not begin or end with a blank. */
export const IDEMPOTENCY_KEY_PATTERN = '^[!-~](?:[ -~]{0,253}[!-~])?$';
export const IDEMPOTENCY_KEY_RULE = `${IDEMPOTENCY_KEY}: 1 to ${CHARS_MAX} printable characters`;

const IDEMPOTENCY_KEY_FORM = new RegExp(IDEMPOTENCY_KEY_PATTERN);

export function isIdempotencyKey(text: string): boolean {
  return IDEMPOTENCY_KEY_FORM.test(text);
}

/**
 * Serializes a value as JSON with sorted members, so that equal values have equal texts. The schema
 * that validated the value bounds its depth.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
