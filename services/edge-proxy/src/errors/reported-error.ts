import { isRecord, type JsonRecord } from '../formats/answer-json.js';
import { parseDurationMs } from './retry-after.js';

/** Maximum length of a provider's text that is read. */
export const REPORTED_TEXT_LENGTH_MAX = 8_000;
const CODES_MAX = 12;
const CODE_LENGTH_MAX = 80;
/** Maximum number of complaints about a body that are included. */
const COMPLAINTS_MAX = 5;
/** Maximum nesting of details that is searched. */
const DETAIL_LEVELS_MAX = 2;

/** A provider's error in a common form. */
export interface ReportedError {
  /** The original text. It must be cleaned before it is shown. */
  readonly message: string | null;
  /**
   * Codes, types, reasons: only letters and digits, in lower case. They come from providers, never
   * from a client.
   */
  readonly codes: readonly string[];
  /** The HTTP status in the body; null if there is none. */
  readonly status: number | null;
  /** The error lists the parts of the prompt that were flagged. */
  readonly moderated: boolean;
  /** The wait of Google's `RetryInfo` in the details, in milliseconds. */
  readonly waitMs?: number;
}

/** Reads the error in a response's body; null if it is not JSON or has no error. */
export function readErrorBody(body: Buffer): ReportedError | null {
  if (body.length === 0) return null;
  try {
    return readError(JSON.parse(body.toString('utf8')));
  } catch {
    return null;
  }
}

/**
 * Reads the error in a parsed body or event: `{error: {…}}` (most), in an array (Gemini), `{error:
 * "…"}` (xAI), `{message}` (vLLM, Bedrock, Mistral, whose message may be an object), `{detail}`
 * (FastAPI), `{base_resp}` (MiniMax), `{response: {error}}` (a failed response in a stream).
 */
export function readError(value: unknown): ReportedError | null {
  const body = Array.isArray(value) ? (value[0] as unknown) : value;
  if (!isRecord(body)) return null;
  const response = isRecord(body['response']) ? body['response'] : {};
  const error = body['error'] ?? response['error'];
  const inner = isRecord(error) ? error : {};
  const maker = isRecord(body['base_resp']) ? body['base_resp'] : {};
  const waitMs = readRetryInfoMs(inner);
  const reported: ReportedError = {
    message: findText([inner['message'], error, body['message'], body['Message'], body['detail'], maker['status_msg']]),
    codes: readCodes(body, inner, maker),
    status: findStatus([
      inner['code'],
      inner['status'],
      inner['status_code'],
      body['code'],
      body['statusCode'],
      body['status'],
    ]),
    moderated: isModerated(inner),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
  return reported.message === null && reported.codes.length === 0 && reported.status === null ? null : reported;
}

/**
 * Normalizes a code for comparison: `API_KEY_INVALID`, `apiKeyInvalid` and `api-key-invalid` are
 * equal.
 */
export function normalizeCode(code: string): string {
  return code
    .slice(0, CODE_LENGTH_MAX)
    .replace(/[^A-Za-z0-9]+/g, '')
    .toLowerCase();
}

function readRetryInfoMs({ details }: JsonRecord): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const ms = isRecord(detail) ? parseDurationMs(detail['retryDelay']) : undefined;
    if (ms !== undefined) return ms;
  }
  return undefined;
}

function readCodes(body: JsonRecord, inner: JsonRecord, maker: JsonRecord): string[] {
  const details = Array.isArray(inner['details']) ? inner['details'].filter(isRecord) : [];
  const deeper = isRecord(inner['innererror']) ? inner['innererror'] : {};
  const metadata = isRecord(inner['metadata']) ? inner['metadata'] : {};
  const named = [
    inner['code'],
    inner['type'],
    inner['status'],
    ...details.map((detail) => detail['reason']),
    deeper['code'],
    metadata['error_type'],
    metadata['reason'],
    metadata['limit_source'],
    body['code'],
    body['type'],
    typeof maker['status_code'] === 'number' ? `base_resp_${maker['status_code']}` : undefined,
  ];
  const codes = named.flatMap((each) => (typeof each === 'string' ? normalizeCode(each) : []));
  return [...new Set(codes)].filter((code) => !NO_CODES.has(code) && !/^\d*$/.test(code)).slice(0, CODES_MAX);
}

/** Names of events and types of objects, which some providers send in the place of a code. */
const NO_CODES: ReadonlySet<string> = new Set(['error', 'responsefailed', 'message', 'response']);

function findStatus(candidates: readonly unknown[]): number | null {
  for (const each of candidates) {
    const status = typeof each === 'string' && /^\d{3}$/.test(each) ? Number(each) : each;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  }
  return null;
}

function isModerated(inner: JsonRecord): boolean {
  const metadata = inner['metadata'];
  return isRecord(metadata) && (metadata['flagged_input'] !== undefined || Array.isArray(metadata['reasons']));
}

function findText(candidates: readonly unknown[]): string | null {
  for (const each of candidates) {
    const text = readText(each).trim();
    if (text !== '') return text.slice(0, REPORTED_TEXT_LENGTH_MAX);
  }
  return null;
}

/**
 * Returns the text of a value: a string, or a list of complaints (`[{loc, msg}]`), also under
 * `detail`.
 */
function readText(value: unknown, levels = DETAIL_LEVELS_MAX): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.slice(0, COMPLAINTS_MAX).map(formatComplaint).filter(Boolean).join('; ');
  if (!isRecord(value)) return '';
  return value['detail'] === undefined || levels === 0 ? formatComplaint(value) : readText(value['detail'], levels - 1);
}

/** Returns the location and the text of a complaint, but never the refused value. */
function formatComplaint(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isRecord(value)) return '';
  const text = value['msg'] ?? value['message'];
  if (typeof text !== 'string') return '';
  const at = Array.isArray(value['loc']) ? value['loc'].filter((part) => typeof part !== 'object').join('.') : '';
  return at === '' ? text : `${at}: ${text}`;
}
