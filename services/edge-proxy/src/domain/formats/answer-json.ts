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

/** Present and not null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
