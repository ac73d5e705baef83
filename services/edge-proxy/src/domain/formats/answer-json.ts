/** A JSON object, as parsed. */
export type JsonRecord = Record<string, unknown>;

/** The object that the bytes are; null when they are no JSON, or no object. */
export function parseObject(json: Buffer): JsonRecord | null {
  try {
    const value: unknown = JSON.parse(json.toString());
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whether the `error` of an answer says that it is one. Some providers send the member with every
 * answer, empty where there is none: null, false, 0, an empty text, object or array.
 */
export function saysError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

/** Present and not null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
