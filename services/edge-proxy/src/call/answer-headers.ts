/** Headers of a source's answer: lower-case names, a repeated one is an array. */
export type SourceHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Response headers that pass, of a stream (docs/behaviour.md#answers): its kind and cache rule, and
 * a word to buffering proxies.
 */
export function streamHeaders(headers: SourceHeaders): string[] {
  return [
    'content-type',
    one(headers['content-type']) ?? 'text/event-stream',
    'cache-control',
    one(headers['cache-control']) ?? 'no-cache',
    'x-accel-buffering',
    'no',
  ];
}

/** Response headers that pass, of any other body; its length is set by the relay. */
export function plainHeaders(headers: SourceHeaders): string[] {
  const kept = ['content-type', one(headers['content-type']) ?? 'application/json'];
  const cacheControl = one(headers['cache-control']);
  return cacheControl === undefined ? kept : [...kept, 'cache-control', cacheControl];
}

/** The announced length, null when there is none that can be believed. */
export function lengthOf(value: string | string[] | undefined): number | null {
  const text = one(value);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The first value of a header. */
export function one(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
