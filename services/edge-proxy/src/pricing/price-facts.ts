import { CLASS_HEADERS } from '@gateway/contracts/operator';
import type { EndpointSpec } from '../formats/endpoints.js';
import { type Member, toJsonKind } from '../json/json-scanner.js';
import { CLOSE_BRACE, CLOSE_BRACKET, JsonText, QUOTE } from '../json/json-text.js';
import { foldCase } from '../parse/fields.js';

/**
 * Maximum length of names and values. Rules have no longer ones
 * (libs/contracts/src/operator/profile.ts).
 */
const NAME_LENGTH_MAX = 64;
const VALUE_BYTES_MAX = 128;
/**
 * Maximum number of different tool types and options in one request. A request with more cannot be
 * priced.
 */
const TOOL_TYPES_MAX = 64;
/** Maximum number of options of one tool that are kept. A request with more cannot be priced. */
const TOOL_OPTIONS_MAX = 64;
/** Maximum nesting of objects in a tool whose members are read. */
const TOOL_LEVELS_MAX = 3;
/** Maximum nesting of namespaces whose tools are read. */
const NAMESPACE_LEVELS_MAX = 3;

/** A top-level member of a request that may affect the price. */
export interface RequestedMember {
  readonly name: string;
  /** The name with folded case. */
  readonly folded: string;
  /** The value is neither null nor false. */
  readonly isSet: boolean;
  /** A scalar as text; null if it is not a scalar, or too long. */
  readonly value: string | null;
}

/** Tools of one type with the same options. */
export interface RequestedTools {
  readonly type: string;
  readonly count: number;
  /**
   * Members of a tool that is not a function, by their names joined by dots. Empty values, null and
   * false are left out. A scalar as text; null for an object, a list or a long text.
   */
  readonly options: ReadonlyMap<string, string | null>;
  /** Members that are whole numbers: how many of the tools have the member, and the sum. */
  readonly bounds: ReadonlyMap<string, ToolBound>;
}

/** The parts of a request that its price may depend on, for any rules of its sources. */
export interface PricedParts {
  readonly members: readonly RequestedMember[];
  readonly tools: readonly RequestedTools[];
  /** Some tools cannot be identified, so that they have no price. */
  readonly hasOddTools: boolean;
}

/** Items of a prompt that hold tools. A model may use these like the tools of the request. */
const TOOL_ITEMS: readonly string[] = ['additional_tools', 'tool_search_output'];
/** A block of a message that defines a tool in `tool.definition`. */
const TOOL_BLOCK = 'tool_addition';
/** Start of an escaped ASCII character: a type may contain escapes. */
const ASCII_ESCAPE = '\\u00';

/**
 * Collects the facts in one pass over scanned members. The prompt, `model` and `stream` are in no
 * rule.
 */
export function findPricedParts(row: EndpointSpec, body: Buffer, members: readonly Member[]): PricedParts {
  if (!row.billed) return NOTHING;
  const asked: RequestedMember[] = [];
  const text = new JsonText(body);
  const tools = new ToolReader(text);
  for (const member of members) {
    const { name } = member;
    if (name === row.prompt.name) {
      if (row.prompt.holds === 'items' && mayContainType(body, TOOL_ITEMS)) tools.readItems(member);
      else if (row.style === 'messages' && mayContainType(body, [TOOL_BLOCK])) tools.readMessages(member);
    }
    if (name === row.prompt.name || name === 'model' || name === 'stream' || name.length > NAME_LENGTH_MAX) continue;
    const read = readMember(text, member);
    if (!CLASS_HEADERS.includes(read.folded)) asked.push(read);
    if (name === 'tools') tools.read(member);
  }
  return { members: asked, tools: tools.all(), hasOddTools: tools.isOdd };
}

/**
 * Returns whether a body may contain one of these types. Most bodies do not, and are not searched.
 */
function mayContainType(body: Buffer, types: readonly string[]): boolean {
  return types.some((type) => body.includes(type)) || body.includes(ASCII_ESCAPE);
}

/** Adds the requested values of headers to the facts, as members with the headers' names. */
export function withClassHeaders(
  facts: PricedParts,
  headers: readonly (readonly [name: string, value: string])[],
): PricedParts {
  const asked = headers.map(([name, value]): RequestedMember => ({ name, folded: name, isSet: true, value }));
  return { ...facts, members: [...facts.members, ...asked] };
}

const NOTHING: PricedParts = { members: [], tools: [], hasOddTools: false };

function readMember(text: JsonText, { name, kind, start, end }: Member): RequestedMember {
  const value = kind === 'object' || kind === 'array' ? null : readScalar(text, start, end);
  const isSet = kind !== 'null' && !(kind === 'boolean' && value === 'false');
  return { name, folded: foldCase(name), isSet, value };
}

function readScalar(text: JsonText, start: number, end: number): string | null {
  if (end - start > VALUE_BYTES_MAX) return null;
  return text.bytes[start] === QUOTE ? text.text(start, end) : text.bytes.toString('latin1', start, end);
}

type Numbers = readonly (readonly [name: string, value: number])[];
/** A member of a tool: its name and the position of its value. */
type ToolMember = readonly [name: string, start: number, end: number];

/** Reads the type, options and whole numbers of a request's tools. */
class ToolReader {
  isOdd = false;
  readonly #text: JsonText;
  readonly #byKey = new Map<string, RequestedTools & { count: number; bounds: Map<string, ToolBound> }>();

  constructor(text: JsonText) {
    this.#text = text;
  }

  read({ kind, start, onlyObjects }: Member): void {
    if (kind === 'null') return;
    if (kind !== 'array' || !onlyObjects) this.isOdd = true;
    else this.#text.eachElement(start, (tool) => this.#tool(tool, 0));
  }

  /** Reads the items of the prompt that add tools to those of the request. */
  readItems({ kind, start }: Member): void {
    if (kind === 'array') this.#eachTyped(start, TOOL_ITEMS, (members) => this.#namespace(members, 0));
  }

  /** Reads the blocks of messages that define tools, as `{"tool": {"definition": {…}}}`. */
  readMessages({ kind, start }: Member): void {
    const text = this.#text;
    if (kind !== 'array') return;
    text.eachElement(start, (message) => {
      if (toJsonKind(text.bytes[message]) !== 'object') return text.valueEnd(message);
      const members: ToolMember[] = [];
      const end = this.#members(message, members);
      for (const [, content] of findMembers(members, 'content')) {
        if (toJsonKind(text.bytes[content]) === 'array') {
          this.#eachTyped(content, [TOOL_BLOCK], (block) => this.#addition(block));
        }
      }
      return end;
    });
  }

  /**
   * Reads one block. A reference names a tool that is defined elsewhere; anything else is a tool.
   */
  #addition(block: readonly ToolMember[]): void {
    for (const [, tool] of findMembers(block, 'tool')) {
      const members: ToolMember[] = [];
      if (toJsonKind(this.#text.bytes[tool]) === 'object') this.#members(tool, members);
      const definitions = findMembers(members, 'definition').map(([, start]) => start);
      if (definitions.length === 0 && this.#isTyped(members, isReference)) continue;
      for (const start of definitions.length === 0 ? [tool] : definitions) {
        if (toJsonKind(this.#text.bytes[start]) === 'object') this.#tool(start, 0);
        else this.isOdd = true;
      }
    }
  }

  /** Calls `see` with the members of each object in a list that has one of these types. */
  #eachTyped(start: number, types: readonly string[], see: (members: readonly ToolMember[]) => void): void {
    const text = this.#text;
    text.eachElement(start, (item) => {
      if (toJsonKind(text.bytes[item]) !== 'object') return text.valueEnd(item);
      const members: ToolMember[] = [];
      const end = this.#members(item, members);
      if (this.#isTyped(members, (type) => types.includes(type))) see(members);
      return end;
    });
  }

  #isTyped(members: readonly ToolMember[], fits: (type: string) => boolean): boolean {
    const text = this.#text;
    return findMembers(members, 'type').some(
      ([, from, to]) => text.bytes[from] === QUOTE && fits(readScalar(text, from, to) ?? ''),
    );
  }

  /** Adds the members of an object, and returns its end. */
  #members(start: number, members: ToolMember[]): number {
    const text = this.#text;
    return text.eachMember(start, (nameStart, nameEnd, from) => {
      const to = text.valueEnd(from);
      members.push([nameEnd - nameStart > NAME_LENGTH_MAX ? '' : text.text(nameStart, nameEnd), from, to]);
      return to;
    });
  }

  all(): RequestedTools[] {
    return [...this.#byKey.values()];
  }

  /** Reads one tool. A tool without a type is a function if it has a function's name. */
  #tool(start: number, level: number): number {
    const text = this.#text;
    let type: string | null = null;
    let isNamed = false;
    const members: ToolMember[] = [];
    const numbers: [string, number][] = [];
    const end = text.eachMember(start, (nameStart, nameEnd, value) => {
      const valueEnd = text.valueEnd(value);
      const name = nameEnd - nameStart > NAME_LENGTH_MAX ? '' : text.text(nameStart, nameEnd);
      const isType = foldCase(name) === 'type';
      if (isType && (type !== null || name !== 'type' || text.bytes[value] !== QUOTE)) this.isOdd = true;
      if (isType && valueEnd - value <= VALUE_BYTES_MAX) type = readScalar(text, value, valueEnd);
      else if (isType) this.isOdd = true;
      else members.push([name, value, valueEnd]);
      if (name === 'name' || name === 'function') isNamed = true;
      const count = readWholeNumber(text.bytes, value, valueEnd);
      if (count !== null) numbers.push([name, count]);
      return valueEnd;
    });
    if (type === null && !isNamed) this.isOdd = true;
    const options = new Map<string, string | null>();
    if (type !== null && !FUNCTIONS.has(type)) this.#options(options, members, '', 1);
    if (type === NAMESPACE) this.#namespace(members, level);
    this.#add(type ?? FUNCTION, options, numbers);
    return end;
  }

  /** Reads the tools of a namespace like other tools. */
  #namespace(members: readonly ToolMember[], level: number): void {
    const lists = members.filter(([name]) => foldCase(name) === 'tools');
    if (lists.length > 1 || level >= NAMESPACE_LEVELS_MAX) this.isOdd = true;
    for (const [name, start] of lists) {
      if (toJsonKind(this.#text.bytes[start]) === 'null') continue;
      this.#text.valueEnd(start);
      if (name !== 'tools' || !this.#text.onlyObjects) this.isOdd = true;
      else if (level < NAMESPACE_LEVELS_MAX) this.#text.eachElement(start, (tool) => this.#tool(tool, level + 1));
    }
  }

  #options(options: Map<string, string | null>, members: readonly ToolMember[], before: string, level: number): void {
    const text = this.#text;
    for (const [name, start, end] of members) {
      const path = `${before}${name}`;
      const kind = toJsonKind(text.bytes[start]);
      if (options.has(path) || options.size >= TOOL_OPTIONS_MAX) this.isOdd = true;
      if (kind === 'null' || isEmpty(text, kind, start)) continue;
      const value = kind === 'object' || kind === 'array' ? null : readScalar(text, start, end);
      if (kind === 'boolean' && value === 'false') continue;
      if (!DESCRIPTIONS.has(path)) options.set(path, value);
      if (kind !== 'object' || level >= TOOL_LEVELS_MAX) continue;
      const inner: ToolMember[] = [];
      this.#members(start, inner);
      this.#options(options, inner, `${path}.`, level + 1);
    }
  }

  /** Adds a tool. If a number occurs twice in it, the larger one is used. */
  #add(type: string, options: ReadonlyMap<string, string | null>, numbers: Numbers): void {
    const key = options.size === 0 ? type : JSON.stringify([type, ...options]);
    let known = this.#byKey.get(key);
    if (known === undefined) {
      if (this.#byKey.size >= TOOL_TYPES_MAX) {
        this.isOdd = true;
        return;
      }
      this.#byKey.set(key, (known = { type, count: 0, options, bounds: new Map<string, ToolBound>() }));
    }
    known.count += 1;
    if (numbers.length === 0) return;
    for (const [name, most] of new Map(sortByNumber(numbers))) {
      const bound = known.bounds.get(name) ?? { count: 0, sum: 0 };
      if (bound.count === 0 && known.bounds.size >= BOUNDS_MAX) continue;
      known.bounds.set(name, { count: bound.count + 1, sum: bound.sum + most });
    }
  }
}

const isReference = (type: string): boolean => type.endsWith('_reference');

/**
 * Finds all members with a name, ignoring case, since providers differ in the one that they read.
 */
function findMembers(members: readonly ToolMember[], name: string): readonly ToolMember[] {
  return members.filter((member) => foldCase(member[0]) === name);
}

interface ToolBound {
  readonly count: number;
  readonly sum: number;
}

/** Types of tools whose options are the client's own schemas. */
const FUNCTIONS: ReadonlySet<string> = new Set(['function', 'custom']);
/** A tool that holds other tools in its `tools`. */
export const NAMESPACE = 'namespace';
/** Texts for the model, which differ between tools and do not affect the price. */
const DESCRIPTIONS: ReadonlySet<string> = new Set(['name', 'description', 'tools', 'max_uses']);

function isEmpty(text: JsonText, kind: string, start: number): boolean {
  if (kind !== 'object' && kind !== 'array') return false;
  const first = text.bytes[text.spaceEnd(start + 1)];
  return first === CLOSE_BRACKET || first === CLOSE_BRACE;
}

/** The type of a tool without a type. */
export const FUNCTION = 'function';
/**
 * Maximum numeric members (such as `max_uses`) that are kept per tool type, as bounds of its uses.
 * The uses that a further member would bound count as unlimited.
 */
const BOUNDS_MAX = 16;
const NUMBER_BYTES_MAX = 9;

/** Sorts by number, so that the larger of two numbers with the same name comes last. */
function sortByNumber(numbers: Numbers): Numbers {
  return numbers.length < 2 ? numbers : [...numbers].sort((one, other) => one[1] - other[1]);
}

/** Returns null if the value does not bound anything. */
function readWholeNumber(body: Buffer, start: number, end: number): number | null {
  if (toJsonKind(body[start]) !== 'number' || end - start > NUMBER_BYTES_MAX) return null;
  const value = Number(body.toString('latin1', start, end));
  return Number.isInteger(value) && value >= 0 ? value : null;
}
