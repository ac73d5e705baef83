import type { CallBounds } from '@gateway/metering';
import { findBodyAffinity, type BodyAffinity } from './affinity.js';
import { hasCacheWrites1h } from './cache-ttl.js';
import { findStoredIds, type StoredIdReferences } from '../stored-ids/answer-names.js';
import { findCutSpans } from './body-splices.js';
import type { EndpointSpec } from '../formats/endpoints.js';
import { readFields } from './fields.js';
import type { NegativeLimit, StreamOptions } from './fields.js';
import { scanObject } from '../json/json-scanner.js';
import type { ScanProblem, Span } from '../json/json-scanner.js';
import { computeOutputBound } from './output-bound.js';
import { findPricedParts } from '../pricing/price-facts.js';
import type { PricedParts } from '../pricing/price-facts.js';
import { computePromptBounds } from './prompt-bounds.js';

/** Largest request body (libs/contracts/specification/model-gateway-api.md#limits): 10 MB. */
export const BODY_BYTES_MAX = 10_485_760;

/** Headers that describe the request body. */
export interface RequestContentHeaders {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

/** The reason why a body is refused: too large or invalid. */
export interface BodyFinding {
  readonly code: 'request_entity_too_large' | 'invalid_request';
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
  { readonly ok: true; readonly call: ParsedCall } | { readonly ok: false; readonly finding: BodyFinding };

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
