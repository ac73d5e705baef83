import { CUT_BYTES } from '../json/json-reducer.js';

/**
 * Members next to the generated text that are not part of it: types, IDs, base64, signatures,
 * citations.
 */
export const NOT_GENERATED: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'call_id',
  'status',
  'format',
  'data',
  'url',
  'result',
  'signature',
  'encrypted_content',
  'citation',
  'citations',
  'annotations',
  'logprobs',
]);
/** Members that only describe a delta, part or item. */
const NAMES_ONLY: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'call_id',
  'status',
  'format',
  'object',
  'phase',
]);
/**
 * Maximum nesting that is searched in a message or delta: `tool_calls` → call → `function` →
 * `arguments`, and some more.
 */
const LEVELS_MAX = 8;

/**
 * Counts the UTF-8 bytes of the text in a message or delta: content, reasoning, refusals, names and
 * arguments of tool calls. Includes text that a JsonReducer has cut.
 */
export function generatedTextBytes(value: unknown, levels = LEVELS_MAX): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null || levels === 0) return 0;
  let bytes = (value as { [CUT_BYTES]?: number })[CUT_BYTES] ?? 0;
  for (const [name, inner] of Object.entries(value)) {
    if (!NOT_GENERATED.has(name)) bytes += generatedTextBytes(inner, levels - 1);
  }
  return bytes;
}

/**
 * Returns whether a message, delta, part or item has content: any non-empty text, encoded data
 * included.
 */
export function hasContent(value: unknown, levels = LEVELS_MAX): boolean {
  if (typeof value === 'string') return value !== '';
  if (typeof value !== 'object' || value === null) return false;
  if (((value as { [CUT_BYTES]?: number })[CUT_BYTES] ?? 0) > 0) return true;
  // Only content is nested this deeply.
  if (levels === 0) return true;
  for (const name in value) {
    if (!NAMES_ONLY.has(name) && hasContent((value as Record<string, unknown>)[name], levels - 1)) return true;
  }
  return false;
}
