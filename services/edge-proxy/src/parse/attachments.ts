import type { FileBounds } from '@gateway/metering';
import type { PromptForm } from '../formats/endpoints.js';
import type { Span } from '../json/json-scanner.js';
import { OPEN_BRACE, OPEN_BRACKET, QUOTE, JsonText } from '../json/json-text.js';

/** Kinds of attachments, from the cheapest to the most expensive. */
const KINDS = ['text', 'image', 'audio', 'video', 'document'] as const;
type Kind = (typeof KINDS)[number];

/** Part types that are not text, with their kind if the content does not show another one. */
const ATTACHMENT_PARTS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['image', 'image'],
  ['computer_screenshot', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['audio', 'audio'],
  ['video_url', 'video'],
  ['input_video', 'video'],
  ['video', 'video'],
  ['file', 'document'],
  ['input_file', 'document'],
  ['document', 'document'],
  ['container_upload', 'document'],
]);
/** Names of members that refer to content stored elsewhere. */
const REFERENCES: ReadonlySet<string> = new Set(['url', 'file_id', 'file_url', 'image_url', 'audio_url', 'video_url']);
/** Names of members whose text is shown to the model unchanged. */
const TEXTS: ReadonlySet<string> = new Set(['text', 'content', 'output']);
/** Names of members that hold base64, also without a data URL. */
const DATA: ReadonlySet<string> = new Set(['data', 'file_data']);

const DATA_URL = /^data:([^,"\\]{0,100}?)(?:;[^,"\\]{0,100})?;base64,/i;
const DATA_URL_HEAD_BYTES = 256;
const TEXT_MEDIA_TYPE = /^(?:text\/|application\/(?:json|xml|javascript)\b)/i;
/** File extensions and formats that identify a kind. */
const EXTENSIONS: readonly (readonly [Kind, RegExp])[] = [
  [
    'text',
    /^(?:txt|md|csv|tsv|json|jsonl|xml|html?|css|[cm]?[jt]sx?|py|java|go|rs|c|h|cpp|rb|php|sh|sql|ya?ml|log|tex)$/i,
  ],
  ['image', /^(?:png|jpe?g|gif|webp|bmp|tiff?|heic|heif|avif)$/i],
  ['audio', /^(?:wav|mp3|flac|ogg|opus|aac|m4a|amr|aiff?|pcm16|g711_[au]law|wma)$/i],
  ['video', /^(?:mp4|mov|webm|mkv|avi|mpe?g|3gpp?|flv|wmv|m4v)$/i],
  ['document', /^(?:pdf|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub)$/i],
];

/**
 * Nesting levels of an array that can hold parts: `messages` → message → `content` → part, or
 * `input` → item → `output`.
 */
const LEVELS_WITH_PARTS: Readonly<Record<AttachmentPromptForm, number>> = { messages: 4, items: 3 };
/** Maximum depth of parts within parts: a tool result holds documents, and documents hold parts. */
const NESTED_PARTS_MAX = 4;

/**
 * Bytes of the largest document that an endpoint accepts (platform.openai.com, File inputs: 50 MB).
 * Referenced content is counted with this size, as text without compression.
 */
const REFERENCED_BYTES_MAX = 50_000_000;

type AttachmentPromptForm = Exclude<PromptForm, 'texts'>;

/** Attachments of a prompt. Text in base64 does not count. */
export interface Attachments {
  readonly count: number;
  /** Attachments that are not images; null if all are images. */
  readonly files: FileBounds | null;
  /** Bytes of the attachments' base64. */
  readonly base64Bytes: number;
}

/**
 * Finds the attachments in an array of messages or items. Returns null if the array has too few
 * levels to hold one.
 */
export function findAttachments(
  body: Buffer,
  holder: AttachmentPromptForm,
  array: Span & { levels: number },
): Attachments | null {
  if (array.levels < LEVELS_WITH_PARTS[holder]) return null;
  const search = new AttachmentSearch(body, holder);
  search.elements(array.start);
  return search;
}

/** Members of a message, item or part that hold parts. */
const MESSAGE_PARTS: ReadonlySet<string> = new Set(['content']);
const ITEM_PARTS: ReadonlySet<string> = new Set(['content', 'output']);

/** Properties of a part, collected member by member. */
interface Part {
  kind: Kind | null;
  hint: Kind | null;
  base64Bytes: number;
  isReference: boolean;
  /** The part only wraps its text or its own parts. */
  isWrapper: boolean;
}

/** Walks once through an array of messages or items. */
class AttachmentSearch implements Attachments {
  count = 0;
  files: FileBounds | null = null;
  base64Bytes = 0;
  readonly #text: JsonText;
  readonly #partNames: ReadonlySet<string>;

  constructor(body: Buffer, holder: AttachmentPromptForm) {
    this.#text = new JsonText(body);
    this.#partNames = holder === 'items' ? ITEM_PARTS : MESSAGE_PARTS;
  }

  elements(start: number): void {
    const text = this.#text;
    text.eachElement(start, (element) => {
      // A message or item is never an attachment itself, even if its `type` is one of an
      // attachment.
      if (text.bytes[element] !== OPEN_BRACE) return text.valueEnd(element);
      return text.eachMember(element, (nameStart, nameEnd, value) =>
        this.#partNames.has(text.text(nameStart, nameEnd)) ? this.#parts(value, 0) : text.valueEnd(value),
      );
    });
  }

  /** Reads an array of parts, or one part. Returns its end. */
  #parts(start: number, depth: number): number {
    const text = this.#text;
    if (text.bytes[start] === OPEN_BRACKET) return text.eachElement(start, (part) => this.#part(part, depth));
    return this.#part(start, depth);
  }

  #part(start: number, depth: number): number {
    const text = this.#text;
    if (text.bytes[start] !== OPEN_BRACE) return text.valueEnd(start);
    const part: Part = { kind: null, hint: null, base64Bytes: 0, isReference: false, isWrapper: false };
    const end = text.eachMember(start, (nameStart, nameEnd, value) => {
      const name = text.text(nameStart, nameEnd);
      const first = text.bytes[value];
      if (first === OPEN_BRACKET || first === OPEN_BRACE) {
        if (this.#partNames.has(name) && depth < NESTED_PARTS_MAX) return this.#parts(value, depth + 1);
        return first === OPEN_BRACE ? this.#inner(part, name, value, depth) : text.valueEnd(value);
      }
      const valueEnd = text.valueEnd(value);
      if (first !== QUOTE) return valueEnd;
      if (name === 'type')
        part.kind = moreExpensiveKind(part.kind, ATTACHMENT_PARTS.get(text.text(value, valueEnd)) ?? null);
      else this.#string(part, name, value, valueEnd);
      return valueEnd;
    });
    if (end >= 0 && part.kind !== null) this.#add(part, part.kind);
    return end;
  }

  /** Reads an object inside a part: `source`, `file`, `image_url`, `input_audio`. */
  #inner(part: Part, holder: string, start: number, depth: number): number {
    const text = this.#text;
    return text.eachMember(start, (nameStart, nameEnd, value) => {
      const name = text.text(nameStart, nameEnd);
      const first = text.bytes[value];
      const isNested = holder === 'source' && name === 'content' && (first === OPEN_BRACKET || first === OPEN_BRACE);
      if (isNested && depth < NESTED_PARTS_MAX) {
        part.isWrapper = true;
        return this.#parts(value, depth + 1);
      }
      const valueEnd = text.valueEnd(value);
      if (first !== QUOTE) return valueEnd;
      if (name === 'type' && holder === 'source') {
        const type = text.text(value, valueEnd);
        if (type === 'text' || type === 'content') part.isWrapper = true;
        else if (type !== 'base64') part.isReference = true;
      } else this.#string(part, name, value, valueEnd);
      return valueEnd;
    });
  }

  #string(part: Part, name: string, start: number, end: number): void {
    const text = this.#text;
    if (TEXTS.has(name)) return;
    const mediaType = readDataUrlMediaType(text, start, end);
    if (mediaType !== null || DATA.has(name)) {
      part.base64Bytes += end - start - 2;
      if (mediaType !== null) part.hint = moreExpensiveKind(part.hint, toKindByMediaType(mediaType));
    } else if (REFERENCES.has(name)) part.isReference = true;
    else if (name === 'media_type' || name === 'mime_type') {
      part.hint = moreExpensiveKind(part.hint, toKindByMediaType(text.text(start, end)));
    } else if (name === 'format' || name === 'filename') {
      part.hint = moreExpensiveKind(part.hint, findKindByExtension(text.text(start, end)));
    }
  }

  #add({ kind: byType, hint, base64Bytes, isReference, isWrapper }: Part, kind: Kind): void {
    if (isWrapper && !isReference) return;
    // Referenced content can be the largest document, even if its file name indicates another kind.
    // A referenced image is still an image.
    const found = isReference && byType !== 'image' ? 'document' : (hint ?? kind);
    if (found === 'text') return;
    this.count += 1;
    this.base64Bytes += base64Bytes;
    if (found === 'image') return;
    const bytes = Math.ceil((base64Bytes * 3) / 4) + (isReference ? REFERENCED_BYTES_MAX : 0);
    this.files ??= { documents: 0, documentBytes: 0, audios: 0, audioBytes: 0, videos: 0, videoBytes: 0 };
    this.files[`${found}s`] += 1;
    this.files[`${found}Bytes`] += bytes;
  }
}

function moreExpensiveKind(one: Kind | null, other: Kind | null): Kind | null {
  if (one === null || other === null) return one ?? other;
  return KINDS.indexOf(other) > KINDS.indexOf(one) ? other : one;
}

/** An unknown media type counts as a document. */
function toKindByMediaType(mediaType: string): Kind {
  if (TEXT_MEDIA_TYPE.test(mediaType)) return 'text';
  const [family] = mediaType.toLowerCase().split('/', 1);
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document';
}

/** Returns the kind for a file name or format; null if the extension is unknown. */
function findKindByExtension(name: string): Kind | null {
  const extension = name.slice(name.lastIndexOf('.') + 1);
  return EXTENSIONS.find(([, pattern]) => pattern.test(extension))?.[0] ?? null;
}

/** Returns the media type of a base64 data URL; null for any other string. */
function readDataUrlMediaType(text: JsonText, start: number, end: number): string | null {
  const head = text.bytes.toString('latin1', start + 1, Math.min(end - 1, start + 1 + DATA_URL_HEAD_BYTES));
  return DATA_URL.exec(head)?.[1] ?? null;
}
