import type { PromptForm } from '../endpoints.js';
import type { Span } from '../json/json-scanner.js';
import { JsonText } from '../json/json-text.js';

/**
 * Parts of a message that are no text. Other types count as text: too much rather than too little.
 */
const ATTACHMENT_PARTS: ReadonlySet<string> = new Set([
  'image_url',
  'input_image',
  'image',
  'input_audio',
  'audio_url',
  'audio',
  'file',
  'input_file',
  'document',
  'video_url',
  'input_video',
  'video',
  'computer_screenshot',
]);
/**
 * A data URL with base64 content. Text that comes in one stays text, or a prompt could be passed
 * off as a picture.
 */
const DATA_URL = /^data:(?!text\/|application\/(?:json|xml|javascript)\b)[^,"\\]{0,100};base64,/i;
const DATA_URL_HEAD_BYTES = 128;
const TEXT_MEDIA_TYPE = /^(?:text\/|application\/(?:json|xml|javascript)\b)/i;
/**
 * `messages` → message → `content` → part, or `input` → item → `output`: with fewer levels there is
 * no part.
 */
const LEVELS_WITH_PARTS: Readonly<Record<Holder, number>> = { messages: 4, items: 3 };
/** Parts within parts that are looked into: a tool's result holds pictures, a document too. */
const NESTED_PARTS_MAX = 2;

const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;

type Holder = Exclude<PromptForm, 'texts'>;

/** Attachments of a prompt. */
export interface Attachments {
  readonly count: number;
  /** Bytes of their base64. */
  readonly base64Bytes: number;
}

/** The attachments in an array of messages or items; null when it is too flat to hold one. */
export function attachmentsIn(body: Buffer, holder: Holder, array: Span & { levels: number }): Attachments | null {
  if (array.levels < LEVELS_WITH_PARTS[holder]) return null;
  const search = new AttachmentSearch(body, holder === 'items' ? ITEM_PARTS : MESSAGE_PARTS);
  search.messages(array.start);
  return search;
}

/** Members of a message, of an item, or of a part that hold parts. */
const MESSAGE_PARTS: ReadonlySet<string> = new Set(['content']);
const ITEM_PARTS: ReadonlySet<string> = new Set(['content', 'output']);

/**
 * One walk through an array of messages. Texts directly in a message are never taken for
 * attachments.
 */
class AttachmentSearch implements Attachments {
  count = 0;
  base64Bytes = 0;
  readonly #text: JsonText;
  readonly #partNames: ReadonlySet<string>;

  constructor(body: Buffer, partNames: ReadonlySet<string>) {
    this.#text = new JsonText(body);
    this.#partNames = partNames;
  }

  messages(start: number): void {
    const text = this.#text;
    text.eachElement(start, (message) => {
      if (text.bytes[message] !== BRACE) return text.valueEnd(message);
      return text.eachMember(message, (nameStart, nameEnd, value) =>
        this.#partNames.has(text.text(nameStart, nameEnd)) ? this.#parts(value, 0) : text.valueEnd(value),
      );
    });
  }

  /** An array of parts, or one part; returns its end. */
  #parts(start: number, depth: number): number {
    const text = this.#text;
    if (text.bytes[start] === BRACKET) return text.eachElement(start, (part) => this.#part(part, depth));
    return this.#part(start, depth);
  }

  #part(start: number, depth: number): number {
    const text = this.#text;
    if (text.bytes[start] !== BRACE) return text.valueEnd(start);
    let type = '';
    let base64Bytes = 0;
    const end = text.eachMember(start, (nameStart, nameEnd, value) => {
      const name = text.text(nameStart, nameEnd);
      const first = text.bytes[value];
      if (first === BRACKET && name === 'content' && depth < NESTED_PARTS_MAX) return this.#parts(value, depth + 1);
      if (first === BRACE) {
        const inner = this.#innerBase64(name, value);
        base64Bytes += inner.base64Bytes;
        return inner.end;
      }
      const valueEnd = text.valueEnd(value);
      if (first !== QUOTE) return valueEnd;
      if (name === 'type') type = text.text(value, valueEnd);
      else if (isDataUrl(text, value, valueEnd)) base64Bytes += valueEnd - value - 2;
      return valueEnd;
    });
    if (end >= 0 && ATTACHMENT_PARTS.has(type)) {
      this.count += 1;
      this.base64Bytes += base64Bytes;
    }
    return end;
  }

  /**
   * Base64 in an object inside a part: data URLs, the data of `input_audio`, that of a `source` of
   * type base64.
   */
  #innerBase64(holder: string, start: number): { base64Bytes: number; end: number } {
    const text = this.#text;
    let urlBytes = 0;
    let dataBytes = 0;
    let isBase64 = holder === 'input_audio';
    let isText = false;
    const end = text.eachMember(start, (nameStart, nameEnd, value) => {
      const valueEnd = text.valueEnd(value);
      if (text.bytes[value] !== QUOTE) return valueEnd;
      const name = text.text(nameStart, nameEnd);
      if (isDataUrl(text, value, valueEnd)) urlBytes += valueEnd - value - 2;
      else if (name === 'data') dataBytes += valueEnd - value - 2;
      else if (name === 'type' && holder === 'source') isBase64 = text.text(value, valueEnd) === 'base64';
      else if (name === 'media_type') isText = TEXT_MEDIA_TYPE.test(text.text(value, valueEnd));
      return valueEnd;
    });
    return { base64Bytes: urlBytes + (isBase64 && !isText ? dataBytes : 0), end };
  }
}

function isDataUrl(text: JsonText, start: number, end: number): boolean {
  const head = text.bytes.toString('latin1', start + 1, Math.min(end - 1, start + 1 + DATA_URL_HEAD_BYTES));
  return DATA_URL.test(head);
}
