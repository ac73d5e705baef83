import type { SseEvent } from './event-stream.js';
import { cleanMessage } from '../errors/provider-message.js';
import { readError, SAID_TEXT_LENGTH_MAX, type SaidError } from '../errors/said-error.js';
import { isRecord, type JsonRecord } from './answer-json.js';
import type { MeterResult, ProviderFailure, SeenEvent } from './meter.js';

/**
 * Texts of one error that are cleaned, and levels of it that are looked at: what is beyond them is
 * left out.
 */
const TEXTS_MAX = 32;
const LEVELS_MAX = 6;
/** Members of an event that tell its error. */
const TELLING = ['error', 'message', 'detail'] as const;

/**
 * An error event of a format that relays such: what it says, and the event without what must not
 * leave the gateway.
 */
export function failedEvent(sseEvent: SseEvent, message: JsonRecord | null): SeenEvent {
  const failure =
    message === null
      ? failureOfText(sseEvent)
      : failureOf(message, (json) => eventBytes(sseEvent, json), sseEvent.bytes);
  return { pass: true, final: false, early: false, failure };
}

/** Of a whole answer that is none of its endpoint: what it says, if it says anything. */
export function withError(result: MeterResult, answer: JsonRecord): MeterResult {
  const said = readError(answer);
  return said === null ? result : { ...result, failure: { said, relayed: null } };
}

/** A whole answer that says it has failed. */
export function failedAnswer(body: Buffer, answer: JsonRecord): ProviderFailure {
  return failureOf(answer, (json) => Buffer.from(json), body);
}

/** @param asIs what is relayed when there is nothing to remove */
function failureOf(message: JsonRecord, written: (json: string) => Buffer, asIs: Buffer): ProviderFailure {
  const cleaned = JSON.stringify(cleanedErrors(message));
  return { said: readError(message), relayed: cleaned === JSON.stringify(message) ? asIs : written(cleaned) };
}

function failureOfText(sseEvent: SseEvent): ProviderFailure {
  const text = sseEvent.data?.toString() ?? '';
  const said: SaidError | null =
    text === '' ? null : { message: text.slice(0, SAID_TEXT_LENGTH_MAX), codes: [], status: null, moderated: false };
  const cleaned = cleanMessage(text);
  return { said, relayed: cleaned === text ? sseEvent.bytes : eventBytes(sseEvent, cleaned) };
}

function eventBytes({ event }: SseEvent, data: string): Buffer {
  return Buffer.from(`${event === null ? '' : `event: ${event}\n`}data: ${data}\n\n`);
}

function cleanedErrors(message: JsonRecord): JsonRecord {
  const left = { texts: TEXTS_MAX };
  const cleaned = { ...message };
  for (const name of TELLING) {
    if (Object.hasOwn(message, name)) cleaned[name] = cleanedTexts(message[name], left, LEVELS_MAX);
  }
  const { response } = message;
  if (isRecord(response) && Object.hasOwn(response, 'error')) {
    cleaned['response'] = { ...response, error: cleanedTexts(response['error'], left, LEVELS_MAX) };
  }
  return cleaned;
}

function cleanedTexts(value: unknown, left: { texts: number }, levels: number): unknown {
  if (typeof value === 'string') {
    left.texts -= 1;
    return left.texts < 0 ? '' : cleanMessage(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((each) => cleanedTexts(each, left, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cleanedTexts(each, left, levels - 1)]));
}
