import type { EndpointRow } from '../formats/endpoints.js';
import type { Member } from '../json/json-scanner.js';
import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, JsonText } from '../json/json-text.js';

/** Members of a request that can hold `cache_control`; it can also be one of them. */
const HOLDERS: ReadonlySet<string> = new Set(['system', 'tools', 'messages', 'input', 'cache_control']);
/** How an escape of an ASCII character begins: a name or value may be written with some. */
const ASCII_ESCAPE = '\\u00';

/**
 * Whether a request asks for cache writes of one hour (`cache_control` with `ttl: "1h"`) at any
 * depth of its prompt. Most bodies do not contain the name `ttl`, and are not read for it.
 */
export function asksWrites1h({ generates }: EndpointRow, body: Buffer, members: readonly Member[]): boolean {
  if (!generates || !(body.includes('"ttl"') || body.includes(ASCII_ESCAPE))) return false;
  const search = new TtlSearch(body);
  for (const { name, start } of members) if (HOLDERS.has(name)) search.value(start, name === 'cache_control');
  return search.hasFound;
}

/** One pass over values, without decoding what cannot be the name or the value. */
class TtlSearch {
  hasFound = false;
  readonly #text: JsonText;

  constructor(body: Buffer) {
    this.#text = new JsonText(body);
  }

  /** Returns the end of the value. */
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

  /** Whether the string between these positions, quotes included, has this text. */
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
