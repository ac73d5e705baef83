import type { BODY_REFUSAL_CODES } from '@gateway/contracts/errors';
import type { CallBounds } from '@gateway/metering';
import type { EndpointSpec, PromptForm } from '../formats/endpoints.js';
import { type Member, type ScanProblem, type Span, scanObject, toJsonKind } from '../json/json-scanner.js';
import { BACKSLASH, JsonText, OPEN_BRACE, OPEN_BRACKET } from '../json/json-text.js';
import { type PricedParts, findPricedParts } from '../pricing/price-facts.js';
import { type StoredIdReferences, findStoredIds } from '../stored-ids/answer-names.js';
import { type BodyAffinity, findBodyAffinity } from './affinity.js';
import { findAttachments } from './attachments.js';
import { findCutSpans } from './body-splices.js';
import { type NegativeLimit, type StreamOptions, readFields } from './fields.js';
import { computeOutputBound } from './output-bound.js';

/** Largest request body (libs/contracts/specification/model-gateway-api.md#limits): 10 MB. */
export const BODY_BYTES_MAX = 10_485_760;

/** Headers that describe the request body. */
export interface RequestContentHeaders {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

/** The reason why a body is refused: too large or invalid. */
export interface BodyFinding {
  readonly code: (typeof BODY_REFUSAL_CODES)[number];
  readonly message: string;
  /** The invalid field. */
  readonly param: string | null;
}

/** The places where the body is changed before it is forwarded. */
export interface SpliceSpans {
  /** The value of `model`. */
  readonly model: Span;
  /** Null if the body has no `stream_options`. */
  readonly streamOptions: StreamOptions | null;
  /**
   * Spans to remove, each with the comma that would be left. They are in order and overlap neither
   * each other nor the other spans.
   */
  readonly cuts: readonly Span[];
}

/**
 * A request body that passed all checks. It refers to the body by position and keeps none of its
 * bytes.
 */
export interface ParsedCall {
  readonly row: EndpointSpec;
  readonly model: string;
  readonly stream: boolean;
  /** The client set `include_usage`. */
  readonly includeUsage: boolean;
  /** Number of choices requested: `n` (default 1) for each prompt. */
  readonly choices: number;
  readonly bounds: CallBounds;
  /** Number of responses bounded only by the model (`applyModelMaximum`). 0 if `bounds` apply. */
  readonly unboundedAnswers: number;
  /**
   * A limit below zero, which only some sources accept (see `acceptsLimit`); null if there is none.
   */
  readonly endlessLimit: NegativeLimit | null;
  readonly priceFacts: PricedParts;
  readonly spans: SpliceSpans;
  readonly affinity: BodyAffinity;
  readonly answers: StoredIdReferences;
  /** The request asks for 1-hour cache writes: see `Counting`. */
  readonly cacheWriteTtl1h: boolean;
}

export type ParseResult =
  | { readonly ok: true; readonly call: ParsedCall }
  | { readonly ok: false; readonly finding: BodyFinding };

/**
 * Parses a request (docs/behaviour.md#fields). Returns the first broken rule as the finding. Fields
 * that the gateway does not know are neither checked nor removed.
 */
export function parseCall(row: EndpointSpec, headers: RequestContentHeaders, body: Buffer): ParseResult {
  if (body.length > BODY_BYTES_MAX) return { ok: false, finding: buildTooLargeFinding() };
  const headerProblem = checkContentHeaders(headers);
  if (headerProblem !== null) return refuse(headerProblem);
  const scanned = scanObject(body);
  if (!scanned.ok) return refuse(formatScanProblem(scanned.problem, scanned.at));
  const read = readFields(row, body, scanned.members);
  if (!read.ok) return refuse(read.message, read.param);
  const { fields } = read;
  const { prompts, files, ...size } = computePromptBounds(row, body, scanned.members);
  const output = computeOutputBound(row, fields, row.generates ? prompts : 0);
  return {
    ok: true,
    call: {
      row,
      model: fields.model,
      stream: fields.stream,
      // Options that cannot be read are forwarded unchanged, and no usage event is dropped.
      includeUsage: fields.streamOptions?.includeUsage ?? fields.unread.has('stream_options'),
      choices: prompts * (fields.counts.get('n') ?? 1),
      bounds: { ...size, outputTokensMax: output.tokens, ...(files === undefined ? {} : { files }) },
      unboundedAnswers: output.unboundedAnswers,
      endlessLimit: fields.endlessLimit,
      priceFacts: findPricedParts(row, body, scanned.members),
      spans: {
        model: fields.modelSpan,
        streamOptions: fields.streamOptions,
        cuts: findCutSpans(row.cut, scanned.members),
      },
      affinity: findBodyAffinity(row, body, scanned.members),
      answers: findStoredIds(row, body, scanned.members),
      cacheWriteTtl1h: hasCacheWrites1h(row, body, scanned.members),
    },
  };
}

/**
 * Returns the finding for a body above {@link BODY_BYTES_MAX}, by its Content-Length or as
 * received.
 */
export function buildTooLargeFinding(): BodyFinding {
  return { code: 'request_entity_too_large', message: 'The request body is larger than 10 MB.', param: null };
}

function refuse(message: string, param: string | null = null): ParseResult {
  return { ok: false, finding: { code: 'invalid_request', message, param } };
}

function checkContentHeaders({ contentType, contentEncoding }: RequestContentHeaders): string | null {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') return 'The Content-Type must be application/json.';
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity' ? null : 'A request body with a Content-Encoding is not accepted.';
}

function formatScanProblem(problem: ScanProblem, at: number): string {
  switch (problem) {
    case 'bom':
      return 'The request body must not begin with a byte order mark.';
    case 'utf8':
      return 'The request body is not valid UTF-8.';
    case 'not_object':
      return 'The request body must be a JSON object.';
    case 'syntax':
      return `The request body is not valid JSON (at byte ${at}).`;
    case 'depth':
      return `The request body is nested too deeply (at byte ${at}).`;
    case 'members':
      return 'The request body has too many fields.';
  }
}

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

export interface PromptBounds extends Omit<CallBounds, 'outputTokensMax'> {
  /** Number of prompts in the body, before `n` multiplies them. */
  readonly prompts: number;
}

/** Members that never become prompt text. Every other string, array or object may. */
const NOT_PROMPT: ReadonlySet<string> = new Set([
  'model',
  'stream_options',
  'user',
  'metadata',
  'logit_bias',
  'stop',
  'stop_sequences',
  'prompt_cache_key',
  'safety_identifier',
]);

/** The size that one member adds. */
type PromptSize = Pick<PromptBounds, 'promptBytes' | 'arrayElements' | 'attachments' | 'prompts' | 'files'>;

/**
 * Computes the size of a body's prompt (docs/behaviour.md#worst-case): the JSON bytes of its
 * messages, texts, tools and all other members that may become prompt text. Base64 of attachments
 * and integer tokens are left out of the bytes and counted separately. The result is an upper bound
 * of the text's bytes.
 */
export function computePromptBounds({ prompt }: EndpointSpec, body: Buffer, members: readonly Member[]): PromptBounds {
  let promptBytes = 0;
  let arrayElements = 0;
  let attachments = 0;
  let prompts = 1;
  let files: PromptBounds['files'];
  for (const member of members) {
    const holdsText = member.kind === 'string' || member.kind === 'array' || member.kind === 'object';
    if (!holdsText || NOT_PROMPT.has(member.name)) continue;
    const size = member.name === prompt.name ? measurePrompt(prompt.holds, body, member) : null;
    promptBytes += size?.promptBytes ?? member.end - member.start;
    if (size === null) continue;
    arrayElements = size.arrayElements;
    attachments = size.attachments;
    prompts = size.prompts;
    files = size.files;
  }
  return { promptBytes, arrayElements, attachments, prompts, files };
}

/** Returns null if only the member's bytes count and it is one prompt. */
function measurePrompt(holds: PromptForm, body: Buffer, member: Member): PromptSize | null {
  if (member.kind !== 'array') return null;
  if (holds === 'texts') return measureTexts(new JsonText(body), member);
  const found = findAttachments(body, holds, member);
  if (found === null) return null;
  const promptBytes = member.end - member.start - found.base64Bytes;
  return { promptBytes, arrayElements: 0, attachments: found.count, prompts: 1, files: found.files ?? undefined };
}

/**
 * Measures an array of texts and token arrays, each of which is one prompt. Integers directly in
 * the array are together the tokens of one more prompt.
 */
function measureTexts(text: JsonText, member: Member): PromptSize {
  let promptBytes = 0;
  let tokens = 0;
  let arrays = 0;
  let arrayTokens = 0;
  let texts = 0;
  text.eachElement(member.start, (start) => {
    const kind = toJsonKind(text.bytes[start]);
    const end = text.valueEnd(start);
    if (kind === 'number') tokens += 1;
    else if (kind === 'array' && text.levels === 1) {
      arrays += 1;
      arrayTokens += text.elements;
      if (!hasOnlyNumbers(text, start)) promptBytes += end - start;
    } else {
      texts += 1;
      promptBytes += end - start;
    }
    return end;
  });
  const prompts = Math.max(1, texts + arrays + (tokens > 0 ? 1 : 0));
  return { promptBytes, arrayElements: tokens + arrayTokens, attachments: 0, prompts };
}

/** Returns whether the array at `start` holds only numbers. */
function hasOnlyNumbers(text: JsonText, start: number): boolean {
  let onlyNumbers = true;
  text.eachElement(start, (element) => {
    if (toJsonKind(text.bytes[element]) !== 'number') onlyNumbers = false;
    return text.valueEnd(element);
  });
  return onlyNumbers;
}
