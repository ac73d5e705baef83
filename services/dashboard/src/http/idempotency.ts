/** The header under which a client names a request that may come twice. */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';
const CHARS_MAX = 255;
/** Blanks at the ends are no part of a header's value. */
export const IDEMPOTENCY_KEY_PATTERN = '^[!-~](?:[ -~]{0,253}[!-~])?$';
export const IDEMPOTENCY_KEY_RULE = `${IDEMPOTENCY_KEY}: 1 to ${CHARS_MAX} printable characters`;

const IDEMPOTENCY_KEY_FORM = new RegExp(IDEMPOTENCY_KEY_PATTERN);

export function isIdempotencyKey(text: string): boolean {
  return IDEMPOTENCY_KEY_FORM.test(text);
}

/**
 * JSON with sorted members: one text for one value. The depth is bounded by the schema that the
 * value has passed.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
