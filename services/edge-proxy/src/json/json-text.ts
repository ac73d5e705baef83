export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/** Maximum nesting within one value. */
export const NESTING_MAX = 1_000;
/**
 * Returned if the text is not JSON. {@link JsonText.problem} and `at` have the reason and the
 * position.
 */
export const INVALID_POSITION = -1;

/**
 * Reads bytes as JSON (RFC 8259) in place, without decoding text or creating values. Methods take
 * the position of a token and return the position after it, or {@link INVALID_POSITION}. They loop
 * instead of recursing, so that nesting cannot exhaust the stack. The bytes must be valid UTF-8,
 * which the caller checks once.
 */
export class JsonText {
  problem: 'syntax' | 'depth' = 'syntax';
  /** Position of the problem. */
  at = 0;
  /**
   * Properties of the value that {@link valueEnd} read last, if it is an array: the number of
   * elements, and whether all are objects.
   */
  elements = 0;
  onlyObjects = false;
  /** Its nesting levels: 0 for a scalar. */
  levels = 0;

  private readonly words: Int32Array;
  private readonly wordsStart: number;
  private readonly closers: number[] = [];

  constructor(readonly bytes: Buffer) {
    this.wordsStart = (4 - (bytes.byteOffset & 3)) & 3;
    const words = Math.max(0, (bytes.length - this.wordsStart) >> 2);
    this.words =
      words === 0 ? new Int32Array(0) : new Int32Array(bytes.buffer, bytes.byteOffset + this.wordsStart, words);
  }

  /** Reads the value of any kind at `start`. */
  valueEnd(start: number): number {
    const { bytes, closers } = this;
    let depth = 0;
    let i = start;
    this.elements = 0;
    this.onlyObjects = bytes[start] === OPEN_BRACKET;
    this.levels = 0;
    for (;;) {
      const first = bytes[i];
      if (depth === 1 && closers[1] === CLOSE_BRACKET) {
        this.elements += 1;
        if (first !== OPEN_BRACE) this.onlyObjects = false;
      }
      if (first === OPEN_BRACE || first === OPEN_BRACKET) {
        depth += 1;
        if (depth > NESTING_MAX) return this.fail(i, 'depth');
        if (depth > this.levels) this.levels = depth;
        const closer = first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
        closers[depth] = closer;
        i = this.spaceEnd(i + 1);
        if (bytes[i] !== closer) {
          if (first === OPEN_BRACE) i = this.nameEnd(i);
          if (i < 0) return INVALID_POSITION;
          continue;
        }
        i += 1;
        depth -= 1;
      } else {
        i = this.scalarEnd(i);
        if (i < 0) return INVALID_POSITION;
      }
      while (depth > 0) {
        i = this.spaceEnd(i);
        if (bytes[i] === COMMA) break;
        if (bytes[i] !== closers[depth]) return this.fail(i);
        depth -= 1;
        i += 1;
      }
      if (depth === 0) return i;
      i = this.spaceEnd(i + 1);
      if (closers[depth] === CLOSE_BRACE) i = this.nameEnd(i);
      if (i < 0) return INVALID_POSITION;
    }
  }

  /**
   * Visits each member of the object at `start`. `visit` gets the positions of name and value, and
   * returns the value's end.
   */
  eachMember(start: number, visit: (nameStart: number, nameEnd: number, valueStart: number) => number): number {
    if (this.bytes[start] !== OPEN_BRACE) return this.fail(start);
    let i = this.spaceEnd(start + 1);
    if (this.bytes[i] === CLOSE_BRACE) return i + 1;
    for (;;) {
      const nameStart = i;
      if (this.bytes[i] !== QUOTE) return this.fail(i);
      const nameEnd = this.stringEnd(i);
      if (nameEnd < 0) return INVALID_POSITION;
      const valueStart = this.colonEnd(nameEnd);
      if (valueStart < 0) return INVALID_POSITION;
      i = visit(nameStart, nameEnd, valueStart);
      if (i < 0) return INVALID_POSITION;
      i = this.spaceEnd(i);
      if (this.bytes[i] === CLOSE_BRACE) return i + 1;
      if (this.bytes[i] !== COMMA) return this.fail(i);
      i = this.spaceEnd(i + 1);
    }
  }

  /**
   * Visits each element of the array at `start`. `visit` gets the element's position and returns
   * its end.
   */
  eachElement(start: number, visit: (elementStart: number) => number): number {
    if (this.bytes[start] !== OPEN_BRACKET) return this.fail(start);
    let i = this.spaceEnd(start + 1);
    if (this.bytes[i] === CLOSE_BRACKET) return i + 1;
    for (;;) {
      i = visit(i);
      if (i < 0) return INVALID_POSITION;
      i = this.spaceEnd(i);
      if (this.bytes[i] === CLOSE_BRACKET) return i + 1;
      if (this.bytes[i] !== COMMA) return this.fail(i);
      i = this.spaceEnd(i + 1);
    }
  }

  /** Returns the position of the first byte at or after `start` that is not white space. */
  spaceEnd(start: number): number {
    const { bytes } = this;
    let i = start;
    for (; i < bytes.length; i += 1) {
      const byte = bytes[i];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    }
    return i;
  }

  /** Decodes the string whose quotes are at `start` and before `end`. */
  text(start: number, end: number): string {
    const raw = this.bytes.toString('utf8', start + 1, end - 1);
    return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
  }

  fail(at: number, problem: 'syntax' | 'depth' = 'syntax'): number {
    this.at = Math.min(at, this.bytes.length);
    this.problem = problem;
    return INVALID_POSITION;
  }

  /** Reads the name and colon of a member. Returns the position of its value. */
  private nameEnd(start: number): number {
    if (this.bytes[start] !== QUOTE) return this.fail(start);
    const end = this.stringEnd(start);
    return end < 0 ? INVALID_POSITION : this.colonEnd(end);
  }

  private colonEnd(start: number): number {
    const i = this.spaceEnd(start);
    return this.bytes[i] === COLON ? this.spaceEnd(i + 1) : this.fail(i);
  }

  private scalarEnd(start: number): number {
    switch (this.bytes[start]) {
      case QUOTE:
        return this.stringEnd(start);
      case 0x74:
        return this.wordEnd(start, 'true');
      case 0x66:
        return this.wordEnd(start, 'false');
      case 0x6e:
        return this.wordEnd(start, 'null');
      default:
        return this.numberEnd(start);
    }
  }

  private stringEnd(start: number): number {
    const { bytes } = this;
    let i = start + 1;
    for (;;) {
      i = this.plainEnd(i);
      const byte = bytes[i];
      if (byte === QUOTE) return i + 1;
      if (byte !== BACKSLASH) return this.fail(i);
      const escaped = bytes[i + 1];
      if (escaped === 0x75) {
        for (let digit = i + 2; digit < i + 6; digit += 1) if (!isHex(bytes[digit])) return this.fail(digit);
        i += 6;
      } else {
        if (!isEscape(escaped)) return this.fail(i + 1);
        i += 2;
      }
    }
  }

  /**
   * Finds the next quote, backslash or control character, four bytes at a time. `(x - k) & ~x &
   * 0x80` marks the bytes of x below k. A borrow can mark further bytes wrongly, but only above a
   * byte that is marked correctly, so that every marked word has a match.
   */
  private plainEnd(start: number): number {
    const { bytes, words, wordsStart } = this;
    let i = start;
    for (; i < bytes.length && ((i - wordsStart) & 3) !== 0; i += 1) if (isSpecial(bytes[i])) return i;
    let word = (i - wordsStart) >> 2;
    for (; word < words.length; word += 1) {
      const x = words[word] as number;
      const quotes = x ^ 0x22222222;
      const slashes = x ^ 0x5c5c5c5c;
      const below = (x - 0x20202020) & ~x;
      if ((below | ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)) & 0x80808080) break;
    }
    for (i = Math.max(i, wordsStart + (word << 2)); i < bytes.length; i += 1) if (isSpecial(bytes[i])) return i;
    return i;
  }

  private wordEnd(start: number, word: string): number {
    for (let i = 0; i < word.length; i += 1) {
      if (this.bytes[start + i] !== word.charCodeAt(i)) return this.fail(start + i);
    }
    return start + word.length;
  }

  private numberEnd(start: number): number {
    const { bytes } = this;
    let i = bytes[start] === 0x2d ? start + 1 : start;
    const whole = bytes[i] === 0x30 ? i + 1 : this.digitsEnd(i);
    if (whole === i) return this.fail(i);
    i = whole;
    if (bytes[i] === 0x2e) {
      const places = this.digitsEnd(i + 1);
      if (places === i + 1) return this.fail(places);
      i = places;
    }
    if (bytes[i] === 0x65 || bytes[i] === 0x45) {
      const sign = bytes[i + 1];
      const first = sign === 0x2b || sign === 0x2d ? i + 2 : i + 1;
      const exponent = this.digitsEnd(first);
      if (exponent === first) return this.fail(exponent);
      i = exponent;
    }
    return i;
  }

  private digitsEnd(start: number): number {
    let i = start;
    for (; i < this.bytes.length; i += 1) {
      const byte = this.bytes[i] as number;
      if (byte < 0x30 || byte > 0x39) break;
    }
    return i;
  }
}

function isSpecial(byte: number | undefined): boolean {
  return byte === QUOTE || byte === BACKSLASH || (byte as number) < 0x20;
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** Returns whether the byte is one of `" \ / b f n r t`. */
function isEscape(byte: number | undefined): boolean {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}
