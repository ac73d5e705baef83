import type { ParsedJson } from '../json/json-reducer.js';

/** A parsed JSON object. */
export type JsonRecord = Record<string, unknown>;

/**
 * Parses the bytes, or takes the kept part of a document. Returns null if it is malformed or not an
 * object.
 */
export function parseObject(json: Buffer | ParsedJson): JsonRecord | null {
  if (!Buffer.isBuffer(json)) return json.object;
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
 * Returns whether an `error` member reports an error. Some providers send the member with every
 * response and leave it empty: null, false, 0, or an empty string, array or object.
 */
export function hasError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

/** Maximum length of an ID, a model name or an object type that is kept from a response. */
const NAME_LENGTH_MAX = 1_024;

/**
 * Returns a name from a provider, or undefined if it is not a string or is too long. Events that
 * the gateway writes contain only values read by this function and {@link readSeconds}: other
 * values may be of any size, or nested more deeply than JSON.stringify supports.
 */
export function readName(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= NAME_LENGTH_MAX ? value : undefined;
}

/** Returns a provider's time, in whole seconds since 1970, or undefined if the value is not one. */
export function readSeconds(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/**
 * Returns whether a finish or stop reason is set. Some providers send an empty string (SGLang,
 * Ollama of 2024) or the string "null" (KoboldCpp) with every event before the last.
 */
export function isReason(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'null';
}

/** Returns whether the value is neither undefined nor null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
