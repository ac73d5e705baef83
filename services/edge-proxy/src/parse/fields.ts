import { CHOICES_MAX, type EndpointSpec, type FieldRule } from '../formats/endpoints.js';
import { type Member, type Span, toJsonKind } from '../json/json-scanner.js';
import { JsonText } from '../json/json-text.js';

/** Maximum length of a model name, in UTF-16 units. The bus carries no longer names. */
export const MODEL_NAME_LENGTH_MAX = 512;

/** The value of `stream_options`: an object or null. */
export interface StreamOptions extends Span {
  readonly isNull: boolean;
  /** The object has no members. */
  readonly isEmpty: boolean;
  /** Position of the value of `include_usage`; null if absent. */
  readonly includeUsageSpan: Span | null;
  readonly includeUsage: boolean;
}

/** A limit below zero. Only providers that read this value as "no limit" accept it. */
export interface NegativeLimit {
  readonly name: string;
  readonly value: number;
}

/** The validated fields that the gateway reads. */
export interface Fields {
  readonly model: string;
  readonly modelSpan: Span;
  readonly stream: boolean;
  /** Null if absent. */
  readonly streamOptions: StreamOptions | null;
  /**
   * Values of `n`, `best_of` and the token limits. Fields that are absent, null or in `unread` are
   * missing.
   */
  readonly counts: ReadonlyMap<string, number>;
  /** A listed limit below zero (also in `unread`): each source decides whether to accept it. */
  readonly endlessLimit: NegativeLimit | null;
  /**
   * Fields whose value cannot be used: fields that the endpoint does not list, and listed limits
   * below zero.
   */
  readonly unread: ReadonlySet<string>;
}

export type FieldsResult =
  | { readonly ok: true; readonly fields: Fields }
  | { readonly ok: false; readonly message: string; readonly param: string };

/** Checks the members by the endpoint's rules, in their order, and reads the fields. */
export function readFields(row: EndpointSpec, body: Buffer, members: readonly Member[]): FieldsResult {
  const present = new Map<string, Member>();
  const counts = new Map<string, number>();
  const unread = new Set<string>();
  let endlessLimit: NegativeLimit | null = null;
  const twin = findCaseVariant(row, members);
  if (twin !== null)
    return refuse(twin.sent, `"${twin.sent}" differs from "${twin.read}" only in case: send "${twin.read}".`);
  for (const rule of row.fields) {
    const member = members.find(({ name }) => name === rule.name);
    if (members.some((other) => other !== member && other.name === rule.name)) {
      return refuse(rule.name, `"${rule.name}" occurs more than once.`);
    }
    const isUnset = member === undefined || (member.kind === 'null' && !rule.required);
    if (isUnset && rule.required) return refuse(rule.name, `"${rule.name}" is required: ${describeRule(rule)}.`);
    if (!isUnset && !isAcceptable(rule, body, member)) {
      return refuse(rule.name, `"${rule.name}" must be ${describeRule(rule)}.`);
    }
    if (member !== undefined) present.set(rule.name, member);
    if (isUnset || !isCount(rule)) continue;
    const count = rule.type === 'unlisted' ? readLenientCount(body, member) : readNumber(body, member);
    if (rule.type === 'limit' && count !== null && count < 0) endlessLimit = { name: rule.name, value: count };
    if (count === null || count < 0) unread.add(rule.name);
    else counts.set(rule.name, count);
  }
  const options = present.get('stream_options');
  const isListed = row.fields.some(({ name, type }) => name === 'stream_options' && type === 'object');
  const streamOptions = options === undefined ? null : readStreamOptions(body, options);
  if (typeof streamOptions === 'string') {
    if (isListed) return refuse('stream_options.include_usage', streamOptions);
    unread.add('stream_options');
  }
  const model = present.get('model');
  if (model === undefined) throw new TypeError(`the rules of ${row.path} do not require a model`);
  const stream = present.get('stream');
  return {
    ok: true,
    fields: {
      model: readString(body, model),
      modelSpan: { start: model.start, end: model.end },
      stream: stream !== undefined && isTrue(body, stream),
      streamOptions: typeof streamOptions === 'string' ? null : streamOptions,
      counts,
      endlessLimit,
      unread,
    },
  };
}

function refuse(param: string, message: string): FieldsResult {
  return { ok: false, message, param };
}

function isAcceptable(rule: FieldRule, body: Buffer, member: Member): boolean {
  switch (rule.type) {
    case 'model': {
      const text = member.kind === 'string' ? readString(body, member) : '';
      return text !== '' && text.length <= MODEL_NAME_LENGTH_MAX;
    }
    case 'objects':
      return member.onlyObjects;
    case 'flag':
      return member.kind === 'boolean';
    case 'object':
      return member.kind === 'object';
    case 'text':
      return member.kind === 'string' || member.kind === 'array';
    case 'off':
      return member.kind === 'boolean' && !isTrue(body, member);
    case 'unlisted':
    case 'any':
      return true;
    case 'choices':
    case 'limit': {
      const value = member.kind === 'number' ? readNumber(body, member) : Number.NaN;
      if (!Number.isInteger(value)) return false;
      return rule.type === 'limit' || (value >= 1 && value <= CHOICES_MAX);
    }
  }
}

function describeRule(rule: FieldRule): string {
  switch (rule.type) {
    case 'model':
      return 'the id of a model, a string of 1 to 512 characters';
    case 'objects':
      return 'an array of objects';
    case 'flag':
      return 'true or false';
    case 'object':
      return 'an object';
    case 'text':
      return 'a string or an array';
    case 'off':
      return 'false: its result could not be fetched';
    case 'choices':
      return `an integer from 1 to ${CHOICES_MAX}`;
    case 'limit':
      return 'an integer of at least 0';
    case 'unlisted':
    case 'any':
      return 'anything';
  }
}

function isCount(rule: FieldRule): boolean {
  if (rule.name === 'stream_options') return false;
  return rule.type === 'choices' || rule.type === 'limit' || rule.type === 'unlisted';
}

/**
 * Reads a count as a lenient provider might, also from a string. Returns null if the value bounds
 * nothing, such as -1 for "no limit".
 */
function readLenientCount(body: Buffer, member: Member): number | null {
  if (member.kind === 'string') {
    const text = member.end - member.start <= COUNT_BYTES_MAX ? readString(body, member).trim() : '';
    return /^\+?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
  }
  const value = member.kind === 'number' ? readNumber(body, member) : -1;
  return value >= 0 ? value : null;
}

/** Maximum bytes of a count in a string, and of an option's name. */
const COUNT_BYTES_MAX = 64;

/**
 * Reads `include_usage`, which decides which events the client receives. It must not occur twice,
 * since the provider's parser might read the other occurrence.
 * @returns the options, or an error message
 */
function readStreamOptions(body: Buffer, options: Member): StreamOptions | string {
  const { start, end } = options;
  if (options.kind !== 'null' && options.kind !== 'object') return '"stream_options" must be an object.';
  if (options.kind === 'null') {
    return { start, end, isNull: true, isEmpty: true, includeUsageSpan: null, includeUsage: false };
  }
  const text = new JsonText(body);
  const found: Span[] = [];
  let isEmpty = true;
  let twin: string | null = null;
  text.eachMember(start, (nameStart, nameEnd, valueStart) => {
    isEmpty = false;
    const valueEnd = text.valueEnd(valueStart);
    const name = nameEnd - nameStart > COUNT_BYTES_MAX ? '' : text.text(nameStart, nameEnd);
    if (name !== 'include_usage' && foldCase(name) === 'include_usage') twin = name;
    if (name === 'include_usage') found.push({ start: valueStart, end: valueEnd });
    return valueEnd;
  });
  const [span = null] = found;
  if (twin !== null) return `"${String(twin)}" differs from "include_usage" only in case: send "include_usage".`;
  if (found.length > 1) return '"stream_options.include_usage" occurs more than once.';
  const kind = span === null ? 'null' : toJsonKind(body[span.start]);
  if (kind !== 'boolean' && kind !== 'null') return '"stream_options.include_usage" must be true or false.';
  return {
    start,
    end,
    isNull: false,
    isEmpty,
    includeUsageSpan: span,
    includeUsage: span !== null && isTrue(body, span),
  };
}

function readString(body: Buffer, span: Span): string {
  return new JsonText(body).text(span.start, span.end);
}

function readNumber(body: Buffer, span: Span): number {
  return Number(body.toString('latin1', span.start, span.end));
}

function isTrue(body: Buffer, span: Span): boolean {
  return body[span.start] === 0x74;
}

/**
 * Maximum length of a name that is compared without case. Folding hardly changes a length, and all
 * names that the gateway reads are shorter.
 */
const NAME_LENGTH_MAX = 64;

/**
 * Returns the first name that differs from a known name only in case, and that known name. A
 * provider that ignores case would otherwise use a value that the gateway has not seen, such as
 * another model or another output limit.
 */
export function findCaseVariant(row: EndpointSpec, members: readonly Member[]): { sent: string; read: string } | null {
  for (const { name } of members) {
    if (name.length > NAME_LENGTH_MAX || row.fields.some((rule) => rule.name === name)) continue;
    const folded = foldCase(name);
    if (folded !== name && row.fields.some((rule) => rule.name === folded)) return { sent: name, read: folded };
  }
  return null;
}

/**
 * Folds case, also of the long s (U+017F) and the Kelvin sign (U+212A). Converting to upper or
 * lower case alone does not change these.
 */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}
