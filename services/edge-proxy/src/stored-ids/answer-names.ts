import type { EndpointSpec } from '../formats/endpoints.js';
import { type JsonRecord, isRecord } from '../formats/answer-json.js';
import { type Member, type Span, toJsonKind } from '../json/json-scanner.js';
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, JsonText, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../json/json-text.js';
import { foldCase } from '../parse/fields.js';

/** Maximum bytes of an ID that is stored. A longer ID is never found. */
export const STORED_ID_BYTES_MAX = 256;
/** Maximum number of different IDs in one request to a source that checks them. */
export const NAMED_IDS_MAX = 2_048;

/** A stored object that a request names. */
export interface StoredIdReference {
  readonly kind: 'response' | 'conversation' | 'item' | 'container';
  /**
   * The ID as sent, cut to {@link STORED_ID_BYTES_MAX}; the JSON of a value that is not a string.
   */
  readonly id: string;
  /** No response can have returned the ID: it is too long, or not a string. */
  readonly isUnusable: boolean;
  /** The top-level field that holds the ID. */
  readonly param: string;
}

/** A request's references to stored responses. */
export interface StoredIdReferences {
  /** Unique IDs in the order of the body; at most one more than {@link NAMED_IDS_MAX}. */
  readonly named: readonly StoredIdReference[];
  /**
   * Whether a provider that keeps state stores the response, so that later requests may name it.
   */
  readonly isStored: boolean;
}

const NO_ANSWERS: StoredIdReferences = { named: [], isStored: false };

/**
 * Finds the IDs of stored objects in a body (docs/behaviour.md#stored-objects). Names are compared
 * without case, and every occurrence of a repeated name counts, since providers differ in the one
 * that they read.
 */
export function findStoredIds(
  { format, style }: EndpointSpec,
  body: Buffer,
  members: readonly Member[],
): StoredIdReferences {
  const isResponse = format === 'response';
  if (!isResponse && style !== 'messages') return NO_ANSWERS;
  const search = new IdSearch(new JsonText(body));
  for (const member of members) {
    if (isResponse) search.ofResponses(member);
    else if (member.name === 'container') search.container(member.start, 'container');
  }
  const store = isResponse ? members.findLast(({ name }) => name === 'store') : undefined;
  const isStored = isResponse && (store === undefined || store.kind === 'null' || body[store.start] === TRUE);
  return search.named.length === 0 && !isStored ? NO_ANSWERS : { named: search.named, isStored };
}

const TRUE = 't'.charCodeAt(0);
/** Maximum bytes of a name that is compared: all names below are shorter. */
const NAME_BYTES_MAX = 64;
/** Maximum nesting of tool namespaces. */
const TOOL_NESTING_MAX = 8;

/**
 * Members that hold the content of an item, by its type. Without them the item is sent by its ID
 * alone, and the provider looks up its content. Items of other types have content if they have any
 * member outside {@link IDENTITY}.
 */
const CONTENT: ReadonlyMap<string, readonly string[]> = new Map([
  ['item_reference', []],
  ['message', ['content']],
  ['reasoning', ['encrypted_content', 'content']],
  ['image_generation_call', ['result']],
  ['compaction', ['encrypted_content']],
]);
/** An item without a type is a message, or a reference. */
const UNTYPED = 'message';
const IDENTITY: ReadonlySet<string> = new Set([
  'type',
  'id',
  'status',
  'role',
  'object',
  'phase',
  'container_id',
  'environment',
]);

class IdSearch {
  readonly named: StoredIdReference[] = [];
  readonly #seen = new Set<string>();
  readonly #text: JsonText;

  constructor(text: JsonText) {
    this.#text = text;
  }

  ofResponses({ name, kind, start, end }: Member): void {
    switch (name) {
      case 'previous_response_id':
        return this.#add('response', name, start, end);
      case 'conversation':
        if (kind === 'object') this.#members(start, ['id'], (value, to) => this.#add('conversation', name, value, to));
        if (!this.named.some((each) => each.kind === 'conversation')) this.#add('conversation', name, start, end);
        return;
      case 'input':
        if (kind === 'array') this.#text.eachElement(start, (item) => this.#item(item));
        return;
      case 'tools':
        if (kind === 'array') this.#text.eachElement(start, (tool) => this.#tool(tool, name, 0));
    }
  }

  /**
   * Reads a container: an ID, or an object with an ID. An object without an ID requests a new
   * container.
   */
  container(start: number, param: string): number {
    const add = (value: number, end: number): void => this.#add('container', param, value, end);
    if (this.#text.bytes[start] === OPEN_BRACE) return this.#members(start, ['id', 'container_id'], add);
    const end = this.#text.valueEnd(start);
    if (end >= 0) add(start, end);
    return end;
  }

  /** Reads a tool, or the tools in a namespace. */
  #tool(start: number, param: string, depth: number): number {
    const text = this.#text;
    if (text.bytes[start] !== OPEN_BRACE || depth > TOOL_NESTING_MAX) return text.valueEnd(start);
    return text.eachMember(start, (nameStart, nameEnd, value) => {
      switch (foldCase(this.#name(nameStart, nameEnd))) {
        case 'container':
        case 'container_id':
          return this.container(value, param);
        case 'environment':
          return text.bytes[value] === OPEN_BRACE ? this.container(value, param) : text.valueEnd(value);
        case 'tools':
          if (text.bytes[value] === OPEN_BRACKET)
            return text.eachElement(value, (tool) => this.#tool(tool, param, depth + 1));
      }
      return text.valueEnd(value);
    });
  }

  /** Reads an item. Most items have no ID, so only names that may be relevant are decoded. */
  #item(start: number): number {
    const text = this.#text;
    if (text.bytes[start] !== OPEN_BRACE) return text.valueEnd(start);
    const ids: Span[] = [];
    const end = text.eachMember(start, (nameStart, nameEnd, value) => {
      const name = this.#mayBeRead(nameStart, nameEnd) ? foldCase(this.#name(nameStart, nameEnd)) : '';
      if (name === 'container_id' || (name === 'environment' && text.bytes[value] === OPEN_BRACE))
        return this.container(value, 'input');
      // Items can add tools to those of the request.
      if (name === 'tools' && text.bytes[value] === OPEN_BRACKET)
        return text.eachElement(value, (tool) => this.#tool(tool, 'input', 0));
      const valueEnd = text.valueEnd(value);
      if (name === 'id' && toJsonKind(text.bytes[value]) !== 'null') ids.push({ start: value, end: valueEnd });
      return valueEnd;
    });
    if (ids.length > 0 && !this.#hasContent(start)) for (const id of ids) this.#add('item', 'input', id.start, id.end);
    return end;
  }

  /**
   * Returns whether a name has the length of a relevant one (`id`, `tools`, …), or contains an
   * escape.
   */
  #mayBeRead(start: number, end: number): boolean {
    const length = end - start - 2;
    if (length === 2 || length === 5 || length === 11 || length === 12) return true;
    const { bytes } = this.#text;
    for (let at = start + 1; at < end - 1; at += 1) if (bytes[at] === BACKSLASH) return true;
    return false;
  }

  #hasContent(start: number): boolean {
    const text = this.#text;
    const types: string[] = [];
    const filled: string[] = [];
    const empty: string[] = [];
    text.eachMember(start, (nameStart, nameEnd, value) => {
      const sent = this.#name(nameStart, nameEnd);
      const name = foldCase(sent);
      const end = text.valueEnd(value);
      if (name === 'type') {
        if (toJsonKind(text.bytes[value]) !== 'null')
          types.push(text.bytes[value] === QUOTE ? text.text(value, end) : '');
      } else if (!IDENTITY.has(name)) {
        // Content under a name in another case does not count, since the provider may not read it.
        (this.#isEmpty(value) || sent !== name ? empty : filled).push(name);
      }
      return end;
    });
    if (types.length === 0) types.push(UNTYPED);
    return types.every((type) => {
      const contents = CONTENT.get(type);
      return filled.some((name) => (contents === undefined || contents.includes(name)) && !empty.includes(name));
    });
  }

  /** Calls `add` with the values of the members of these names. */
  #members(start: number, names: readonly string[], add: (start: number, end: number) => void): number {
    const text = this.#text;
    return text.eachMember(start, (nameStart, nameEnd, value) => {
      const end = text.valueEnd(value);
      if (names.includes(foldCase(this.#name(nameStart, nameEnd)))) add(value, end);
      return end;
    });
  }

  /** Decodes a name. Returns an empty string if it is too long to be relevant. */
  #name(start: number, end: number): string {
    return end - start > NAME_BYTES_MAX ? '' : this.#text.text(start, end);
  }

  /** Returns whether a value is null, or an empty string, array or object. */
  #isEmpty(start: number): boolean {
    const text = this.#text;
    switch (toJsonKind(text.bytes[start])) {
      case 'null':
        return true;
      case 'string':
        return text.bytes[start + 1] === QUOTE;
      case 'array':
        return text.bytes[text.spaceEnd(start + 1)] === CLOSE_BRACKET;
      case 'object':
        return text.bytes[text.spaceEnd(start + 1)] === CLOSE_BRACE;
      default:
        return false;
    }
  }

  #add(kind: StoredIdReference['kind'], param: string, start: number, end: number): void {
    const { bytes } = this.#text;
    const first = toJsonKind(bytes[start]);
    if (first === 'null' || this.named.length > NAMED_IDS_MAX) return;
    const isLong = end - start - 2 > STORED_ID_BYTES_MAX;
    const isUnusable = isLong || first !== 'string';
    const id = isUnusable
      ? bytes.toString('utf8', first === 'string' ? start + 1 : start, Math.min(end, start + STORED_ID_BYTES_MAX))
      : this.#text.text(start, end);
    const key = `${kind} ${id}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.named.push({ kind, id, isUnusable, param });
  }
}

/** Maximum number of IDs kept of one response: the first ones. */
export const IDS_PER_RESPONSE_MAX = 1_024;

/** IDs in a response that later requests may name. */
export interface StoredIds {
  /**
   * IDs of the response and its items, which later requests may name if the provider stores the
   * response.
   */
  readonly stored: readonly string[];
  /** Containers exist even if the response is not stored. */
  readonly containers: readonly string[];
  /** The response had more than {@link IDS_PER_RESPONSE_MAX} IDs. */
  readonly isCut: boolean;
}

/** Collects the IDs of a response, from its events or from the whole body. */
export class StoredIdReader {
  readonly #stored = new Set<string>();
  readonly #containers = new Set<string>();
  #isCut = false;

  /** Reads a response object of the responses protocol, complete or not. */
  readResponse(response: JsonRecord): void {
    this.#add(this.#stored, response['id']);
    const { output } = response;
    if (Array.isArray(output)) for (const item of output) this.readItem(item);
  }

  readItem(item: unknown): void {
    if (!isRecord(item)) return;
    this.#add(this.#stored, item['id']);
    this.#add(this.#containers, item['container_id']);
    const { environment } = item;
    if (isRecord(environment)) this.#add(this.#containers, environment['container_id']);
  }

  /** Reads the `container` of a message. */
  readContainer(container: unknown): void {
    if (isRecord(container)) this.#add(this.#containers, container['id']);
  }

  /** Returns undefined if there are none. */
  ids(): StoredIds | undefined {
    if (this.#stored.size === 0 && this.#containers.size === 0) return undefined;
    return { stored: [...this.#stored], containers: [...this.#containers], isCut: this.#isCut };
  }

  #add(ids: Set<string>, id: unknown): void {
    if (typeof id !== 'string' || id === '' || ids.has(id) || Buffer.byteLength(id) > STORED_ID_BYTES_MAX) return;
    if (this.#stored.size + this.#containers.size >= IDS_PER_RESPONSE_MAX) this.#isCut = true;
    else ids.add(id);
  }
}

export function withIds<T extends object>(result: T, reader: StoredIdReader): T & { readonly ids?: StoredIds } {
  const ids = reader.ids();
  return ids === undefined ? result : { ...result, ids };
}
