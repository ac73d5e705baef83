import type { SseEvent } from './event-stream.js';
import { CLEANED_LENGTH_MAX, cleanMessage } from '../errors/provider-message.js';
import { readError, REPORTED_TEXT_LENGTH_MAX, type ReportedError } from '../errors/reported-error.js';
import { CutText, type ParsedJson } from '../json/json-reducer.js';
import { isRecord, hasError, type JsonRecord } from './answer-json.js';
import type { MeterResult, ProviderFailure, EventHandling } from './meter.js';

/**
 * Credentials and addresses are removed from at most this many texts of an error, this many
 * characters in all, at this nesting. Texts beyond are emptied. 1,000 characters take up to 0.6 ms.
 */
const TEXTS_MAX = 32;
const TEXTS_LENGTH_MAX = 8_000;
const LEVELS_MAX = 6;
/**
 * Maximum nesting of a response that is serialized again; deeper values are removed. JSON.stringify
 * throws at thousands of levels.
 */
const WRITTEN_LEVELS_MAX = 64;
/** Members of an event that describe its error. */
const ERROR_MEMBERS = ['error', 'message', 'detail'] as const;

/**
 * Returns whether the part of a long event that was read so far shows that it is an error. If its
 * data has a type, the type decides.
 */
export function isErrorStart({ event, data }: SseEvent): boolean {
  const message = data === null || Buffer.isBuffer(data) ? null : data.soFar().object;
  const type = message?.['type'] ?? event;
  if (typeof type === 'string') return type === 'error' || type === 'response.failed' || event === 'error';
  return hasError(message?.['error']) || message?.['object'] === 'error';
}

/**
 * Reads an error event of a format that relays errors. Returns the error, and the event without
 * content that must not leave the gateway.
 */
export function readFailedEvent(sseEvent: SseEvent, message: JsonRecord | null): EventHandling {
  const failure =
    message === null
      ? buildTextFailure(sseEvent)
      : buildFailure(
          message,
          (json) => formatEvent(sseEvent, json),
          sseEvent.endsLong === true ? null : sseEvent.bytes,
        );
  return { pass: true, final: false, early: false, failure };
}

/** Adds the error of a complete body that is not a valid response, if it reports one. */
export function withError(result: MeterResult, answer: JsonRecord): MeterResult {
  const reported = readError(answer);
  return reported === null ? result : { ...result, failure: { reported, relayed: null } };
}

/** Reads a complete response that reports a failure. */
export function readFailedResponse(body: Buffer | ParsedJson, answer: JsonRecord): ProviderFailure {
  return buildFailure(answer, (json) => Buffer.from(json), Buffer.isBuffer(body) ? body : null);
}

/** @param asIs bytes to relay if nothing has to be removed; null to serialize the kept part */
function buildFailure(message: JsonRecord, written: (json: string) => Buffer, asIs: Buffer | null): ProviderFailure {
  const cleaned = cleanErrors(message);
  const relayed =
    cleaned === null && asIs !== null
      ? asIs
      : written(JSON.stringify(limitLevels(cleaned ?? message, WRITTEN_LEVELS_MAX)));
  return { reported: readError(message), relayed };
}

function buildTextFailure(sseEvent: SseEvent): ProviderFailure {
  const text = Buffer.isBuffer(sseEvent.data) ? sseEvent.data.toString() : '';
  const reported: ReportedError | null =
    text === ''
      ? null
      : { message: text.slice(0, REPORTED_TEXT_LENGTH_MAX), codes: [], status: null, moderated: false };
  if (sseEvent.endsLong === true) return { reported, relayed: null };
  const cleaned = cleanMessage(text);
  return { reported, relayed: cleaned === text ? sseEvent.bytes : formatEvent(sseEvent, cleaned) };
}

function formatEvent({ event }: SseEvent, data: string): Buffer {
  return Buffer.from(`${event === null ? '' : `event: ${event}\n`}data: ${data}\n\n`);
}

/** The remaining budget of a cleaning, and whether anything was changed. */
interface Cleaning {
  texts: number;
  length: number;
  hasChanged: boolean;
}

/** Returns null if there is nothing to remove. */
function cleanErrors(message: JsonRecord): JsonRecord | null {
  const cleaning: Cleaning = { texts: TEXTS_MAX, length: TEXTS_LENGTH_MAX, hasChanged: false };
  const cleaned = { ...message };
  for (const name of ERROR_MEMBERS) {
    if (Object.hasOwn(message, name)) cleaned[name] = cleanTexts(message[name], cleaning, LEVELS_MAX);
  }
  const { response } = message;
  if (isRecord(response) && Object.hasOwn(response, 'error')) {
    cleaned['response'] = { ...response, error: cleanTexts(response['error'], cleaning, LEVELS_MAX) };
  }
  return cleaning.hasChanged ? cleaned : null;
}

function cleanTexts(value: unknown, cleaning: Cleaning, levels: number): unknown {
  if (typeof value === 'string') {
    cleaning.texts -= 1;
    cleaning.length -= Math.min(value.length, CLEANED_LENGTH_MAX);
    const cleaned = cleaning.texts < 0 || cleaning.length < 0 ? '' : cleanMessage(value);
    cleaning.hasChanged ||= cleaned !== value;
    return cleaned;
  }
  if (typeof value !== 'object' || value === null) return value;
  cleaning.hasChanged ||= levels === 0;
  return levels === 0 ? null : mapValues(value, (each) => cleanTexts(each, cleaning, levels - 1));
}

function limitLevels(value: unknown, levels: number): unknown {
  if (value instanceof CutText) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  return levels === 0 ? null : mapValues(value, (each) => limitLevels(each, levels - 1));
}

/** Returns the list or object with each of its values mapped. */
function mapValues(value: object, change: (each: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, change(each)]));
}
