import type { SseEvent } from './event-stream.js';
import { CLEANED_LENGTH_MAX, cleanMessage } from '../errors/provider-message.js';
import { readError, SAID_TEXT_LENGTH_MAX, type SaidError } from '../errors/said-error.js';
import { CutText, type ParsedJson } from '../json/json-reducer.js';
import { isRecord, saysError, type JsonRecord } from './answer-json.js';
import type { MeterResult, ProviderFailure, SeenEvent } from './meter.js';

/**
 * Texts of one error that are cleaned, their characters, and levels of it that are read: the rest
 * is left out. Cleaning takes up to 0.6 ms for 1,000 characters.
 */
const TEXTS_MAX = 32;
const TEXTS_LENGTH_MAX = 8_000;
const LEVELS_MAX = 6;
/**
 * Levels of an answer that is written anew: what is beyond them is left out. At thousands of levels
 * JSON.stringify throws.
 */
const WRITTEN_LEVELS_MAX = 64;
/** Members of an event that tell its error. */
const TELLING = ['error', 'message', 'detail'] as const;

/**
 * Whether a long event is known to report an error although only a part of it was read. Events
 * whose data has a type are told by that.
 */
export function startsError({ event, data }: SseEvent): boolean {
  const message = data === null || Buffer.isBuffer(data) ? null : data.soFar().object;
  const type = message?.['type'] ?? event;
  if (typeof type === 'string') return type === 'error' || type === 'response.failed' || event === 'error';
  return saysError(message?.['error']) || message?.['object'] === 'error';
}

/**
 * An error event of a format that relays such: what it says, and the event without what must not
 * leave the gateway.
 */
export function failedEvent(sseEvent: SseEvent, message: JsonRecord | null): SeenEvent {
  const failure =
    message === null
      ? failureOfText(sseEvent)
      : failureOf(message, (json) => eventBytes(sseEvent, json), sseEvent.endsLong === true ? null : sseEvent.bytes);
  return { pass: true, final: false, early: false, failure };
}

/** Of a whole answer that is none of its endpoint: what it says, if it says anything. */
export function withError(result: MeterResult, answer: JsonRecord): MeterResult {
  const said = readError(answer);
  return said === null ? result : { ...result, failure: { said, relayed: null } };
}

/** A whole answer that says it has failed. */
export function failedAnswer(body: Buffer | ParsedJson, answer: JsonRecord): ProviderFailure {
  return failureOf(answer, (json) => Buffer.from(json), Buffer.isBuffer(body) ? body : null);
}

/** @param asIs what is relayed when there is nothing to remove; null: what was kept of it */
function failureOf(message: JsonRecord, written: (json: string) => Buffer, asIs: Buffer | null): ProviderFailure {
  const cleaned = cleanedErrors(message);
  const relayed =
    cleaned === null && asIs !== null
      ? asIs
      : written(JSON.stringify(withinLevels(cleaned ?? message, WRITTEN_LEVELS_MAX)));
  return { said: readError(message), relayed };
}

function failureOfText(sseEvent: SseEvent): ProviderFailure {
  const text = Buffer.isBuffer(sseEvent.data) ? sseEvent.data.toString() : '';
  const said: SaidError | null =
    text === '' ? null : { message: text.slice(0, SAID_TEXT_LENGTH_MAX), codes: [], status: null, moderated: false };
  if (sseEvent.endsLong === true) return { said, relayed: null };
  const cleaned = cleanMessage(text);
  return { said, relayed: cleaned === text ? sseEvent.bytes : eventBytes(sseEvent, cleaned) };
}

function eventBytes({ event }: SseEvent, data: string): Buffer {
  return Buffer.from(`${event === null ? '' : `event: ${event}\n`}data: ${data}\n\n`);
}

/** What may still be looked at, and whether anything of it had to be changed. */
interface Cleaning {
  texts: number;
  length: number;
  hasChanged: boolean;
}

/** Null: there is nothing to remove. */
function cleanedErrors(message: JsonRecord): JsonRecord | null {
  const cleaning: Cleaning = { texts: TEXTS_MAX, length: TEXTS_LENGTH_MAX, hasChanged: false };
  const cleaned = { ...message };
  for (const name of TELLING) {
    if (Object.hasOwn(message, name)) cleaned[name] = cleanedTexts(message[name], cleaning, LEVELS_MAX);
  }
  const { response } = message;
  if (isRecord(response) && Object.hasOwn(response, 'error')) {
    cleaned['response'] = { ...response, error: cleanedTexts(response['error'], cleaning, LEVELS_MAX) };
  }
  return cleaning.hasChanged ? cleaned : null;
}

function cleanedTexts(value: unknown, cleaning: Cleaning, levels: number): unknown {
  if (typeof value === 'string') {
    cleaning.texts -= 1;
    cleaning.length -= Math.min(value.length, CLEANED_LENGTH_MAX);
    const cleaned = cleaning.texts < 0 || cleaning.length < 0 ? '' : cleanMessage(value);
    cleaning.hasChanged ||= cleaned !== value;
    return cleaned;
  }
  if (typeof value !== 'object' || value === null) return value;
  cleaning.hasChanged ||= levels === 0;
  return levels === 0 ? null : mapped(value, (each) => cleanedTexts(each, cleaning, levels - 1));
}

function withinLevels(value: unknown, levels: number): unknown {
  if (value instanceof CutText) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  return levels === 0 ? null : mapped(value, (each) => withinLevels(each, levels - 1));
}

/** The list or object with each of its values changed. */
function mapped(value: object, change: (each: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, change(each)]));
}
