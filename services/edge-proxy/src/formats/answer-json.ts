import type { ParsedJson } from '../json/json-reducer.js';

/** A JSON object, as parsed. */
export type JsonRecord = Record<string, unknown>;

/** The object in the bytes, or what was kept of one; null if it is malformed or not an object. */
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
 * Whether the `error` of an answer says that it is one. Some providers send the member with every
 * answer, empty where there is none: null, false, 0, an empty text, object or array.
 */
export function saysError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value);
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

/** Characters of a longest name that is kept of an answer: of itself, of its model, of its kind. */
const NAME_LENGTH_MAX = 1_024;

/**
 * The name that a provider gives; undefined: it is no text, or longer than any name. Of an answer
 * nothing is kept or written anew but what this and {@link secondsOf} read: a value of another kind
 * may be of any size, and nested deeper than JSON.stringify goes.
 */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= NAME_LENGTH_MAX ? value : undefined;
}

/** The time that a provider gives, in whole seconds since 1970; undefined: it is none. */
export function secondsOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/**
 * Whether a finish or stop reason is one. Some providers send an empty text (SGLang, Ollama of
 * 2024) or the text "null" (KoboldCpp) with every event before the last.
 */
export function isReason(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'null';
}

/** Present and not null. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
