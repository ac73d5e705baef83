import type { EndpointSpec } from '../formats/endpoints.js';
import type { Member } from '../json/json-scanner.js';
import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, JsonText } from '../json/json-text.js';

/** Members of a request that can contain `cache_control`, or are it. */
const HOLDERS: ReadonlySet<string> = new Set(['system', 'tools', 'messages', 'input', 'cache_control']);
/** Start of an escaped ASCII character: names and values may contain escapes. */
const ASCII_ESCAPE = '\\u00';

/**
 * Returns whether a request asks for 1-hour cache writes (`cache_control` with `ttl: "1h"`) at any
 * depth of its prompt. Bodies without the name `ttl`, which are most, are not searched.
 */
export function hasCacheWrites1h({ generates }: EndpointSpec, body: Buffer, members: readonly Member[]): boolean {
  if (!generates || !(body.includes('"ttl"') || body.includes(ASCII_ESCAPE))) return false;
  const search = new TtlSearch(body);
  for (const { name, start } of members) if (HOLDERS.has(name)) search.value(start, name === 'cache_control');
  return search.hasFound;
}

/** Searches values in one pass. Decodes only strings that can be the name or the value. */
class TtlSearch {
  hasFound = false;
  readonly #text: JsonText;

  constructor(body: Buffer) {
    this.#text = new JsonText(body);
  }

  /** Searches a value and returns its end. */
  value(start: number, isCacheControl = false): number {
    const text = this.#text;
    const first = text.bytes[start];
    if (first === OPEN_BRACKET) return text.eachElement(start, (element) => this.value(element));
    if (first !== OPEN_BRACE) return text.valueEnd(start);
    return text.eachMember(start, (nameStart, nameEnd, value) => {
      const end = this.value(value, this.#is(nameStart, nameEnd, 'cache_control'));
      if (isCacheControl && this.#is(nameStart, nameEnd, 'ttl') && this.#is(value, end, '1h')) this.hasFound = true;
      return end;
    });
  }

  /** Returns whether the string between these positions, quotes included, has this text. */
  #is(start: number, end: number, wanted: string): boolean {
    const { bytes } = this.#text;
    const length = end - start - 2;
    if (length === wanted.length) return bytes.toString('latin1', start + 1, end - 1) === wanted;
    if (length < wanted.length || length > wanted.length * ESCAPED_BYTES) return false;
    return bytes.subarray(start, end).includes(BACKSLASH) && this.#text.text(start, end) === wanted;
  }
}

/** Bytes of one escaped character. */
const ESCAPED_BYTES = 6;
