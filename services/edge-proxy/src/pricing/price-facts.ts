import { CLASS_HEADERS } from '@gateway/contracts/operator';
import type { EndpointRow } from '../formats/endpoints.js';
import { type Member, kindOf } from '../json/json-scanner.js';
import { CLOSE_BRACE, CLOSE_BRACKET, JsonText, QUOTE } from '../json/json-text.js';
import { foldCase } from '../parse/fields.js';

/** Longer names and values are in no rule (libs/contracts/src/operator/profile.ts). */
const NAME_LENGTH_MAX = 64;
const VALUE_BYTES_MAX = 128;
/** Different types and options of tools in one request; a request with more cannot be priced. */
const TOOL_TYPES_MAX = 64;
/** Options of one tool that are kept; a request with more cannot be priced. */
const TOOL_OPTIONS_MAX = 64;
/** Levels of objects in a tool whose members are read. */
const TOOL_LEVELS_MAX = 3;
/** Levels of namespaces within namespaces whose tools are read. */
const NAMESPACE_LEVELS_MAX = 3;

/** A top-level member of a request that a price may depend on. */
export interface AskedMember {
  readonly name: string;
  /** In the form in which names that differ only in case are the same. */
  readonly folded: string;
  /** Neither null nor false. */
  readonly isSet: boolean;
  /** A scalar as text; null: it is no scalar, or a long one. */
  readonly value: string | null;
}

/** The tools of one type and the same options. */
export interface AskedTools {
  readonly type: string;
  readonly count: number;
  /**
   * Members of a tool that is not a function, by their names joined by dots, without empty ones,
   * null and false. A scalar as text; null: an object, a list or a long text.
   */
  readonly options: ReadonlyMap<string, string | null>;
  /** Members of theirs that are whole numbers: how many have it, and the sum. */
  readonly bounds: ReadonlyMap<string, ToolBound>;
}

/** What of a request its price may depend on, whatever the rules of its sources say. */
export interface PriceFacts {
  readonly members: readonly AskedMember[];
  readonly tools: readonly AskedTools[];
  /** Something among the tools is none that can be told: no price is known for it. */
  readonly hasOddTools: boolean;
}

/** Items of a prompt that hold tools, which a model may use like those of the request. */
const TOOL_ITEMS: readonly string[] = ['additional_tools', 'tool_search_output'];
/** A block of a message that defines a tool, as `tool.definition`. */
const TOOL_BLOCK = 'tool_addition';
/** How an escape of an ASCII character begins: a type may be written with some. */
const ASCII_ESCAPE = '\\u00';

/**
 * Collects them in one walk over members that are known to be JSON: as many as the scanner lets
 * pass, each short. The prompt and what names the call are in no rule.
 */
export function priceFacts(row: EndpointRow, body: Buffer, members: readonly Member[]): PriceFacts {
  if (!row.billed) return NOTHING;
  const asked: AskedMember[] = [];
  const text = new JsonText(body);
  const tools = new ToolFacts(text);
  for (const member of members) {
    const { name } = member;
    if (name === row.prompt.name) {
      if (row.prompt.holds === 'items' && mayName(body, TOOL_ITEMS)) tools.seeItems(member);
      else if (row.style === 'messages' && mayName(body, [TOOL_BLOCK])) tools.seeMessages(member);
    }
    if (name === row.prompt.name || name === 'model' || name === 'stream' || name.length > NAME_LENGTH_MAX) continue;
    const read = askedMember(text, member);
    if (!CLASS_HEADERS.includes(read.folded)) asked.push(read);
    if (name === 'tools') tools.see(member);
  }
  return { members: asked, tools: tools.all(), hasOddTools: tools.isOdd };
}

/** Most bodies do not contain such a type, and are not read for it. */
function mayName(body: Buffer, types: readonly string[]): boolean {
  return types.some((type) => body.includes(type)) || body.includes(ASCII_ESCAPE);
}

/** The facts with what headers ask for: they are read as members of their names. */
export function withClassHeaders(
  facts: PriceFacts,
  headers: readonly (readonly [name: string, value: string])[],
): PriceFacts {
  const asked = headers.map(([name, value]): AskedMember => ({ name, folded: name, isSet: true, value }));
  return { ...facts, members: [...facts.members, ...asked] };
}

const NOTHING: PriceFacts = { members: [], tools: [], hasOddTools: false };

function askedMember(text: JsonText, { name, kind, start, end }: Member): AskedMember {
  const value = kind === 'object' || kind === 'array' ? null : scalarText(text, start, end);
  const isSet = kind !== 'null' && !(kind === 'boolean' && value === 'false');
  return { name, folded: foldCase(name), isSet, value };
}

function scalarText(text: JsonText, start: number, end: number): string | null {
  if (end - start > VALUE_BYTES_MAX) return null;
  return text.bytes[start] === QUOTE ? text.text(start, end) : text.bytes.toString('latin1', start, end);
}

type Numbers = readonly (readonly [name: string, value: number])[];
/** A member of a tool: its name, and where its value is. */
type ToolMember = readonly [name: string, start: number, end: number];

/** Reads the tools of a request: of each its type, its options, and its whole numbers. */
class ToolFacts {
  isOdd = false;
  readonly #text: JsonText;
  readonly #byKey = new Map<string, AskedTools & { count: number; bounds: Map<string, ToolBound> }>();

  constructor(text: JsonText) {
    this.#text = text;
  }

  see({ kind, start, onlyObjects }: Member): void {
    if (kind === 'null') return;
    if (kind !== 'array' || !onlyObjects) this.isOdd = true;
    else this.#text.eachElement(start, (tool) => this.#tool(tool, 0));
  }

  /** Items of the prompt that add tools to those of the request. */
  seeItems({ kind, start }: Member): void {
    if (kind === 'array') this.#eachTyped(start, TOOL_ITEMS, (members) => this.#namespace(members, 0));
  }

  /** Blocks of messages that define tools, as `{"tool": {"definition": {…}}}`. */
  seeMessages({ kind, start }: Member): void {
    const text = this.#text;
    if (kind !== 'array') return;
    text.eachElement(start, (message) => {
      if (kindOf(text.bytes[message]) !== 'object') return text.valueEnd(message);
      const members: ToolMember[] = [];
      const end = this.#members(message, members);
      for (const [, content] of valuesOf(members, 'content')) {
        if (kindOf(text.bytes[content]) === 'array') {
          this.#eachTyped(content, [TOOL_BLOCK], (block) => this.#addition(block));
        }
      }
      return end;
    });
  }

  /** A reference names a tool that is among the others. What is not a reference is a tool. */
  #addition(block: readonly ToolMember[]): void {
    for (const [, tool] of valuesOf(block, 'tool')) {
      const members: ToolMember[] = [];
      if (kindOf(this.#text.bytes[tool]) === 'object') this.#members(tool, members);
      const definitions = valuesOf(members, 'definition').map(([, start]) => start);
      if (definitions.length === 0 && this.#isTyped(members, isReference)) continue;
      for (const start of definitions.length === 0 ? [tool] : definitions) {
        if (kindOf(this.#text.bytes[start]) === 'object') this.#tool(start, 0);
        else this.isOdd = true;
      }
    }
  }

  /** Calls `see` with the members of each object of a list that claims one of the types. */
  #eachTyped(start: number, types: readonly string[], see: (members: readonly ToolMember[]) => void): void {
    const text = this.#text;
    text.eachElement(start, (item) => {
      if (kindOf(text.bytes[item]) !== 'object') return text.valueEnd(item);
      const members: ToolMember[] = [];
      const end = this.#members(item, members);
      if (this.#isTyped(members, (type) => types.includes(type))) see(members);
      return end;
    });
  }

  #isTyped(members: readonly ToolMember[], fits: (type: string) => boolean): boolean {
    const text = this.#text;
    return valuesOf(members, 'type').some(
      ([, from, to]) => text.bytes[from] === QUOTE && fits(scalarText(text, from, to) ?? ''),
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

  all(): AskedTools[] {
    return [...this.#byKey.values()];
  }

  /** One without a type is a function where it has the name of one. */
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
      if (isType && valueEnd - value <= VALUE_BYTES_MAX) type = scalarText(text, value, valueEnd);
      else if (isType) this.isOdd = true;
      else members.push([name, value, valueEnd]);
      if (name === 'name' || name === 'function') isNamed = true;
      const count = wholeNumber(text.bytes, value, valueEnd);
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

  /** The tools inside are tools like the others. */
  #namespace(members: readonly ToolMember[], level: number): void {
    const lists = members.filter(([name]) => foldCase(name) === 'tools');
    if (lists.length > 1 || level >= NAMESPACE_LEVELS_MAX) this.isOdd = true;
    for (const [name, start] of lists) {
      if (kindOf(this.#text.bytes[start]) === 'null') continue;
      this.#text.valueEnd(start);
      if (name !== 'tools' || !this.#text.onlyObjects) this.isOdd = true;
      else if (level < NAMESPACE_LEVELS_MAX) this.#text.eachElement(start, (tool) => this.#tool(tool, level + 1));
    }
  }

  #options(options: Map<string, string | null>, members: readonly ToolMember[], before: string, level: number): void {
    const text = this.#text;
    for (const [name, start, end] of members) {
      const path = `${before}${name}`;
      const kind = kindOf(text.bytes[start]);
      if (options.has(path) || options.size >= TOOL_OPTIONS_MAX) this.isOdd = true;
      if (kind === 'null' || isEmpty(text, kind, start)) continue;
      const value = kind === 'object' || kind === 'array' ? null : scalarText(text, start, end);
      if (kind === 'boolean' && value === 'false') continue;
      if (!DESCRIPTIONS.has(path)) options.set(path, value);
      if (kind !== 'object' || level >= TOOL_LEVELS_MAX) continue;
      const inner: ToolMember[] = [];
      this.#members(start, inner);
      this.#options(options, inner, `${path}.`, level + 1);
    }
  }

  /** A bound that is there twice is believed as little as the smaller of the two. */
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
    for (const [name, most] of new Map(sortedByNumber(numbers))) {
      const bound = known.bounds.get(name) ?? { count: 0, sum: 0 };
      if (bound.count === 0 && known.bounds.size >= BOUNDS_MAX) continue;
      known.bounds.set(name, { count: bound.count + 1, sum: bound.sum + most });
    }
  }
}

const isReference = (type: string): boolean => type.endsWith('_reference');

/** All members of a name, in whatever case: providers differ in which one they read. */
function valuesOf(members: readonly ToolMember[], name: string): readonly ToolMember[] {
  return members.filter((member) => foldCase(member[0]) === name);
}

interface ToolBound {
  readonly count: number;
  readonly sum: number;
}

/** Their options are the client's own schemas. */
const FUNCTIONS: ReadonlySet<string> = new Set(['function', 'custom']);
/** A tool that holds other tools in its `tools`. */
export const NAMESPACE = 'namespace';
/** Texts for the model, which differ from tool to tool and price nothing. */
const DESCRIPTIONS: ReadonlySet<string> = new Set(['name', 'description', 'tools', 'max_uses']);

function isEmpty(text: JsonText, kind: string, start: number): boolean {
  if (kind !== 'object' && kind !== 'array') return false;
  const first = text.bytes[text.spaceEnd(start + 1)];
  return first === CLOSE_BRACKET || first === CLOSE_BRACE;
}

/** What a tool without a type is. */
export const FUNCTION = 'function';
/** Members of the tools of one type that are numbers; what is beyond bounds nothing. */
const BOUNDS_MAX = 16;
const NUMBER_BYTES_MAX = 9;

/** Of a name that is there twice the larger number is the last one. */
function sortedByNumber(numbers: Numbers): Numbers {
  return numbers.length < 2 ? numbers : [...numbers].sort((one, other) => one[1] - other[1]);
}

/** Null: nothing that bounds. */
function wholeNumber(body: Buffer, start: number, end: number): number | null {
  if (kindOf(body[start]) !== 'number' || end - start > NUMBER_BYTES_MAX) return null;
  const value = Number(body.toString('latin1', start, end));
  return Number.isInteger(value) && value >= 0 ? value : null;
}
