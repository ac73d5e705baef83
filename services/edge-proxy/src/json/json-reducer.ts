import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-text.js';

const LOWER_U = 0x75;

/** Maximum nesting of a document. A deeper document is invalid. */
const LEVELS_MAX = 65_536;
/** Maximum nesting that is kept. Text in deeper values is still counted. */
const KEPT_LEVELS_MAX = 24;
/** Maximum bytes of a string that any shape keeps. */
const TOKEN_BYTES_MAX = 8_192;
/** Room for an escape sequence that begins before a string's bound. */
const ESCAPE_BYTES_MAX = 6;
const NAME_BYTES_MAX = 1_024;
/** Bytes that one value adds in addition to its name and text. */
const VALUE_BYTES = 4;
/** Bytes that are compared one by one before a native search begins. */
const SHORT_BYTES = 24;

/** Decides which values are dropped first at the bound: rank 2 first, rank 0 last. */
export type Rank = 0 | 1 | 2;
/** Part of the bound that values up to each rank may fill. */
const KEPT_PARTS: Readonly<Record<Rank, number>> = { 0: 1, 1: 3 / 4, 2: 1 / 4 };

/** The data that is kept of a value and of the values inside it. */
export interface Shape {
  readonly rank: Rank;
  /** Nothing is kept or counted: neither the value nor anything in it. */
  readonly isIgnored?: boolean;
  /** A string that is not kept does not count as text. */
  readonly isUncounted?: boolean;
  /** Maximum length of a kept string, in bytes of JSON, at most 8,192. A longer string is cut. */
  readonly stringBytesMax: number;
  /** Keep the beginning of a longer string. Absent: a {@link CutText} replaces it. */
  readonly keepsBeginning?: boolean;
  /** Members of an object with their shapes. */
  readonly members: ReadonlyMap<string, Shape>;
  /** Shape of all other members and elements. Absent: this shape. */
  readonly others?: Shape;
  /** Shape of the elements of an array. */
  readonly elements?: Shape;
}

/**
 * UTF-8 bytes of the text that was left out: of a {@link CutText} its string, of an object or array
 * the dropped values inside it. Ignored values do not count.
 */
export const CUT_BYTES: unique symbol = Symbol('cut bytes');

/** Replaces a string that is too long to be kept. */
export class CutText {
  [CUT_BYTES] = 0;
}

/** A parsed JSON document, or the part of it that was kept. */
export interface ParsedJson {
  /** Null if the document is incomplete, malformed, or not an object. */
  readonly object: Record<string, unknown> | null;
}

type CutCounter = { [CUT_BYTES]?: number };
type Node = (Record<string, unknown> | unknown[]) & CutCounter;

/** The expected next token, or the token that is being read. */
type State =
  | 'value'
  | 'value_or_end'
  | 'name'
  | 'name_or_end'
  | 'colon'
  | 'after_value'
  | 'in_string'
  | 'in_escape'
  | 'in_hex'
  | 'in_word'
  | 'in_ignored'
  | 'at_end'
  | 'invalid';

/**
 * Reads one JSON document (RFC 8259) while its bytes are relayed, in any chunks. Keeps a small
 * object: the values of the shape, within `keptBytesMax`. Memory is that bound and 8 KiB for the
 * current token. The last of duplicate names is used, as with `JSON.parse`. Ignored values are only
 * checked for balanced brackets and quotes. Control characters in strings are accepted.
 */
export class JsonReducer implements ParsedJson {
  #state: State = 'value';
  #root: Record<string, unknown> | null = null;
  readonly #limits: Readonly<Record<Rank, number>>;
  #keptBytes = 0;

  /** Stacks: one entry per open level, outermost first. The node of a value not kept is null. */
  readonly #closers: number[] = [];
  readonly #nodes: (Node | null)[] = [];
  readonly #shapes: Shape[] = [];
  /** The innermost kept object or array, which counts the dropped text inside it. */
  readonly #homes: CutCounter[] = [];
  /** The last name in the current object. */
  #name = '';
  /** The name is too long to be kept. */
  #isNameCut = false;

  readonly #rootShape: Shape;
  /** The current string, number or literal, as it is written. */
  readonly #token = Buffer.allocUnsafe(TOKEN_BYTES_MAX + ESCAPE_BYTES_MAX);
  #tokenBytes = 0;
  #isCollecting = false;
  #isName = false;
  #valueShape: Shape;
  /** UTF-8 bytes of the current string. */
  #textBytes = 0;
  /** Counts the remaining text of a string that is cut. */
  #cut: CutCounter | null = null;
  #hexDigits = 0;
  #hexValue = 0;
  #isAfterHighSurrogate = false;

  #ignoredFrom = 0;
  #isInIgnoredString = false;
  #isIgnoredEscape = false;

  /** Positions in the bytes of the current write(). */
  #quoteAt = -1;
  #backslashAt = -1;

  /** @param keptBytesMax maximum bytes of names, values and structure that are kept, as JSON */
  constructor(shape: Shape, keptBytesMax: number) {
    this.#rootShape = shape;
    this.#valueShape = shape;
    this.#limits = {
      0: keptBytesMax * KEPT_PARTS[0],
      1: keptBytesMax * KEPT_PARTS[1],
      2: keptBytesMax * KEPT_PARTS[2],
    };
  }

  get object(): Record<string, unknown> | null {
    return this.#state === 'at_end' ? this.#root : null;
  }

  /** Returns the part that was kept so far. The document may be incomplete. */
  soFar(): ParsedJson {
    return { object: this.#root };
  }

  write(bytes: Buffer): void {
    this.#quoteAt = -1;
    this.#backslashAt = -1;
    let i = 0;
    while (i < bytes.length) {
      switch (this.#state) {
        case 'invalid':
          return;
        case 'in_ignored':
          i = this.#passIgnored(bytes, i);
          break;
        case 'in_string':
          i = this.#readString(bytes, i);
          break;
        case 'in_word':
          i = this.#readWord(bytes, i);
          break;
        case 'in_escape':
          this.#readEscape(bytes[i] as number);
          i += 1;
          break;
        case 'in_hex':
          this.#readHex(bytes[i] as number);
          i += 1;
          break;
        default: {
          const byte = bytes[i] as number;
          if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) this.#readToken(byte, this.#state);
          i += 1;
        }
      }
    }
  }

  #readToken(byte: number, state: State): void {
    switch (state) {
      case 'value_or_end':
        if (byte === CLOSE_BRACKET) return this.#close(byte);
        return this.#beginValue(byte);
      case 'value':
        return this.#beginValue(byte);
      case 'name_or_end':
        if (byte === CLOSE_BRACE) return this.#close(byte);
        return this.#beginName(byte);
      case 'name':
        return this.#beginName(byte);
      case 'colon':
        this.#state = byte === COLON ? 'value' : 'invalid';
        return;
      case 'after_value':
        if (byte !== COMMA) return this.#close(byte);
        this.#state = this.#closers.at(-1) === CLOSE_BRACE ? 'name' : 'value';
        return;
      default:
        this.#state = 'invalid';
    }
  }

  #beginName(byte: number): void {
    if (byte !== QUOTE) {
      this.#state = 'invalid';
      return;
    }
    this.#isName = true;
    this.#beginString(true, null);
  }

  #beginString(isCollecting: boolean, cut: CutCounter | null): void {
    this.#state = 'in_string';
    this.#tokenBytes = 0;
    this.#textBytes = 0;
    this.#isCollecting = isCollecting;
    this.#cut = cut;
    this.#isAfterHighSurrogate = false;
  }

  #beginValue(byte: number): void {
    const shape = this.#shapeOfValue();
    this.#valueShape = shape;
    if (this.#closers.length === 0 && byte !== OPEN_BRACE) {
      this.#state = 'invalid';
    } else if (shape.isIgnored === true && (byte === OPEN_BRACE || byte === OPEN_BRACKET || byte === QUOTE)) {
      this.#ignoredFrom = this.#closers.length;
      this.#state = 'in_ignored';
      if (byte === QUOTE) this.#isInIgnoredString = true;
      else this.#pushCloser(byte);
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#open(byte, shape);
    } else if (byte === QUOTE) {
      this.#isName = false;
      const isKept = this.#nodes.at(-1) != null;
      this.#beginString(isKept, isKept || shape.isUncounted === true ? null : (this.#homes.at(-1) ?? null));
    } else {
      this.#state = 'in_word';
      this.#tokenBytes = 0;
      this.#isCollecting = this.#hasRoom();
      this.#collect(byte);
    }
  }

  #shapeOfValue(): Shape {
    const outer = this.#shapes.at(-1);
    if (outer === undefined) return this.#rootShape;
    const own = this.#closers.at(-1) === CLOSE_BRACE ? outer.members.get(this.#name) : outer.elements;
    return own ?? outer.others ?? outer;
  }

  #pushCloser(byte: number): void {
    if (this.#closers.length === LEVELS_MAX) this.#state = 'invalid';
    this.#closers.push(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
  }

  #open(byte: number, shape: Shape): void {
    const level = this.#closers.length;
    const node: Node = byte === OPEN_BRACE ? {} : [];
    this.#state = byte === OPEN_BRACE ? 'name_or_end' : 'value_or_end';
    let isKept = true;
    if (level === 0) this.#root = node as Record<string, unknown>;
    else isKept = level < KEPT_LEVELS_MAX && this.#attach(node, 0);
    const home = isKept ? node : (this.#homes.at(-1) ?? node);
    this.#pushCloser(byte);
    this.#nodes.push(isKept ? node : null);
    this.#shapes.push(shape);
    this.#homes.push(home);
  }

  #close(byte: number): void {
    if (this.#closers.length === 0 || this.#closers.pop() !== byte) {
      this.#state = 'invalid';
      return;
    }
    this.#nodes.pop();
    this.#shapes.pop();
    this.#homes.pop();
    this.#endValue();
  }

  #endValue(): void {
    this.#state = this.#closers.length === 0 ? 'at_end' : 'after_value';
  }

  /** Returns whether a value without text can be kept. */
  #hasRoom(): boolean {
    const { rank, isIgnored } = this.#valueShape;
    return this.#nodes.at(-1) != null && isIgnored !== true && this.#keptBytes + VALUE_BYTES <= this.#limits[rank];
  }

  /**
   * Adds a value to the current object or array. Returns false if that is not kept, or the bound is
   * reached.
   */
  #attach(value: unknown, valueBytes: number): boolean {
    const node = this.#nodes.at(-1);
    if (node == null) return false;
    const isMember = !Array.isArray(node);
    if (isMember && this.#isNameCut) return false;
    const bytes = this.#keptBytes + VALUE_BYTES + valueBytes + (isMember ? this.#name.length : 0);
    if (bytes > this.#limits[this.#valueShape.rank]) return false;
    this.#keptBytes = bytes;
    if (!isMember) node.push(value);
    else if (this.#name !== '__proto__') node[this.#name] = value;
    else Object.defineProperty(node, this.#name, { value, enumerable: true, configurable: true, writable: true });
    return true;
  }

  /** Reads to the closing quote, the end of the bytes, or an escape of hexadecimal digits. */
  #readString(bytes: Buffer, start: number): number {
    let i = start;
    while (this.#state === 'in_string') {
      const end = this.#plainEnd(bytes, i);
      if (end > i) {
        this.#isAfterHighSurrogate = false;
        this.#countText(end - i);
        if (this.#isCollecting) this.#collectSpan(bytes, i, end);
      }
      if (end === bytes.length) return end;
      i = end + 1;
      if (bytes[end] === QUOTE) {
        this.#endString();
        return i;
      }
      // Checked here, so that no escape is cut.
      if (this.#isCollecting && this.#tokenBytes >= this.#stringBytesMax) this.#overflow();
      this.#collect(BACKSLASH);
      this.#state = 'in_escape';
      if (i < bytes.length) this.#readEscape(bytes[i++] as number);
    }
    return i;
  }

  #readEscape(byte: number): void {
    this.#collect(byte);
    if (byte === LOWER_U) {
      this.#state = 'in_hex';
      this.#hexDigits = 0;
      this.#hexValue = 0;
      return;
    }
    this.#isAfterHighSurrogate = false;
    this.#countText(1);
    this.#state = isEscape(byte) ? 'in_string' : 'invalid';
  }

  #readHex(byte: number): void {
    const digit = hexDigit(byte);
    if (digit < 0) {
      this.#state = 'invalid';
      return;
    }
    this.#collect(byte);
    this.#hexValue = this.#hexValue * 16 + digit;
    this.#hexDigits += 1;
    if (this.#hexDigits < 4) return;
    this.#state = 'in_string';
    const code = this.#hexValue;
    // Two escaped surrogates are one character of four bytes. A single surrogate becomes U+FFFD.
    if (this.#isAfterHighSurrogate && code >= 0xdc00 && code <= 0xdfff) this.#countText(1);
    else this.#countText(code < 0x80 ? 1 : code < 0x800 ? 2 : 3);
    this.#isAfterHighSurrogate = code >= 0xd800 && code <= 0xdbff;
  }

  #countText(bytes: number): void {
    this.#textBytes += bytes;
    if (this.#cut !== null) this.#cut[CUT_BYTES] = (this.#cut[CUT_BYTES] ?? 0) + bytes;
  }

  get #stringBytesMax(): number {
    return this.#isName ? NAME_BYTES_MAX : this.#valueShape.stringBytesMax;
  }

  #collect(byte: number): void {
    if (!this.#isCollecting) return;
    if (this.#tokenBytes === this.#token.length) return this.#overflow();
    this.#token[this.#tokenBytes] = byte;
    this.#tokenBytes += 1;
  }

  #collectSpan(bytes: Buffer, start: number, end: number): void {
    const fits = Math.max(0, Math.min(end - start, this.#stringBytesMax - this.#tokenBytes));
    bytes.copy(this.#token, this.#tokenBytes, start, start + fits);
    this.#tokenBytes += fits;
    if (fits < end - start) this.#overflow();
  }

  #overflow(): void {
    this.#isCollecting = false;
    if (this.#isName || this.#state === 'in_word' || this.#valueShape.keepsBeginning === true) return;
    const cut = new CutText();
    const isOwn = this.#attach(cut, 0) || this.#valueShape.isUncounted === true;
    this.#cut = isOwn ? cut : (this.#homes.at(-1) ?? cut);
    this.#cut[CUT_BYTES] = (this.#cut[CUT_BYTES] ?? 0) + this.#textBytes;
  }

  #endString(): void {
    if (this.#isName) {
      this.#state = 'colon';
      this.#isNameCut = !this.#isCollecting;
      this.#name = this.#isNameCut ? '' : this.#tokenText();
      return;
    }
    // The last escape may have begun within the bound.
    if (this.#isCollecting && this.#tokenBytes > this.#stringBytesMax) this.#overflow();
    this.#endValue();
    if (this.#cut !== null || this.#nodes.at(-1) == null) return;
    if (this.#attach(this.#tokenText(), this.#tokenBytes) || this.#valueShape.isUncounted === true) return;
    const home = this.#homes.at(-1);
    if (home !== undefined) home[CUT_BYTES] = (home[CUT_BYTES] ?? 0) + this.#textBytes;
  }

  #tokenText(): string {
    const raw = this.#token.toString('utf8', 0, this.#tokenBytes);
    if (!raw.includes('\\')) return raw;
    // A control character next to an escape makes the document invalid, as for `JSON.parse`.
    const text = parseWord(`"${raw}"`);
    if (text === undefined) this.#state = 'invalid';
    return typeof text === 'string' ? text : '';
  }

  /** Reads a number or a literal, up to the byte that ends it. */
  #readWord(bytes: Buffer, start: number): number {
    let i = start;
    for (; i < bytes.length; i += 1) {
      const byte = bytes[i] as number;
      if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte <= 0x20) {
        this.#endWord();
        return i;
      }
      this.#collect(byte);
    }
    return i;
  }

  /**
   * Ends a number or literal. One that exceeds the token buffer becomes NaN, which no meter reads
   * as a count.
   */
  #endWord(): void {
    this.#endValue();
    if (this.#tokenBytes === 0) return;
    const value = this.#isCollecting ? parseWord(this.#token.toString('latin1', 0, this.#tokenBytes)) : Number.NaN;
    if (value === undefined) this.#state = 'invalid';
    else this.#attach(value, this.#tokenBytes);
  }

  #passIgnored(bytes: Buffer, start: number): number {
    let i = start;
    while (i < bytes.length) {
      if (this.#isInIgnoredString) {
        i = this.#passString(bytes, i);
        if (this.#isInIgnoredString) return i;
      } else {
        while (i < bytes.length && IS_STRUCTURE[bytes[i] as number] === 0) i += 1;
        if (i === bytes.length) return i;
        const byte = bytes[i] as number;
        i += 1;
        if (byte === QUOTE) this.#isInIgnoredString = true;
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#pushCloser(byte);
        else if (this.#closers.pop() !== byte) this.#state = 'invalid';
        if (this.#state === 'invalid') return i;
      }
      if (!this.#isInIgnoredString && this.#closers.length === this.#ignoredFrom) {
        this.#endValue();
        return i;
      }
    }
    return i;
  }

  /**
   * Returns the position of the first quote or backslash at or after `start`, else the length. Each
   * of the two is searched for once: a text full of escapes must not cause a search to its end for
   * each escape.
   */
  #plainEnd(bytes: Buffer, start: number): number {
    let i = start;
    for (const near = Math.min(bytes.length, start + SHORT_BYTES); i < near; i += 1) {
      const byte = bytes[i];
      if (byte === QUOTE || byte === BACKSLASH) return i;
    }
    if (this.#quoteAt < i) this.#quoteAt = indexFrom(bytes, QUOTE, i);
    if (this.#backslashAt < i) this.#backslashAt = indexFrom(bytes, BACKSLASH, i);
    return Math.min(this.#quoteAt, this.#backslashAt);
  }

  #passString(bytes: Buffer, start: number): number {
    let i = start;
    while (i < bytes.length) {
      if (this.#isIgnoredEscape) {
        this.#isIgnoredEscape = false;
        i += 1;
      }
      const end = this.#plainEnd(bytes, i);
      if (end === bytes.length) return end;
      i = end + 1;
      if (bytes[end] === QUOTE) {
        this.#isInIgnoredString = false;
        return i;
      }
      this.#isIgnoredEscape = true;
    }
    return i;
  }
}

/** The bytes that decide where an ignored value ends. */
const IS_STRUCTURE = new Uint8Array(256);
for (const byte of [QUOTE, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET]) IS_STRUCTURE[byte] = 1;

function indexFrom(bytes: Buffer, byte: number, start: number): number {
  const found = bytes.indexOf(byte, start);
  return found < 0 ? bytes.length : found;
}

/** Returns undefined if the text is not a JSON number or literal. */
function parseWord(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns whether the byte is one of `" \ / b f n r t`. */
function isEscape(byte: number): boolean {
  return ESCAPES.includes(byte);
}

const ESCAPES = Buffer.from('"\\/bfnrt');

/** Returns the value of a hexadecimal digit; -1 for any other byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
