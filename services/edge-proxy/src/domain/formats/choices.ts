import { chatErrorBody } from '@gateway/contracts/errors';
import type { TokenUsage } from '@gateway/metering';
import type { SseEvent } from './event-stream.js';
import {
  isReason,
  isRecord,
  isSet,
  nameOf,
  parseObject,
  saysError,
  secondsOf,
  type JsonRecord,
} from './answer-json.js';
import type { ParsedJson } from '../json/json-reducer.js';
import { generatedTextBytes } from './generated-text.js';
import { readError } from '../errors/said-error.js';
import { failedEvent, withError } from './failed-event.js';
import { DROP, FINAL, PASS } from './meter.js';
import type { AnswerReader, Counting, MeterResult, SeenEvent, StreamMeter, StreamMeterOptions } from './meter.js';
import { readOpenAiUsage } from './openai-usage.js';
import { SaidReader, saidIn } from '../pricing/said-extras.js';
import { laterUsage, meterResult, withSaid, type ReadUsage } from './read-usage.js';

/** `[DONE]`, with room for white space around it. */
const DONE_BYTES_MAX = 16;

/**
 * The reader of answers that are lists of choices: chat and legacy completions.
 * @param streamed the member of a streamed choice that holds its text
 * @param plain the member of a plain choice that does
 */
export function choicesReader(streamed: string, plain: string): AnswerReader {
  return {
    streamMeter: (options) => choicesStreamMeter(streamed, options),
    readPlain: (body, counting) => readPlainChoices(plain, body, counting),
    cutEndsNormally: false,
  };
}

/**
 * Every event is parsed: on a typical one that costs what byte tests for usage, errors, finish
 * reasons and text cost together, under 1 µs, and nothing is guessed.
 */
function choicesStreamMeter(textMember: string, options: StreamMeterOptions): StreamMeter {
  const { dropUsageChunk, makesUsageEvent = false, choices, totalExtra, pricing } = options;
  const said = pricing === undefined ? null : new SaidReader(pricing);
  let usage: ReadUsage = 'absent';
  let deliveredBytes = 0;
  let markerSeen = false;
  let first: JsonRecord | null = null;
  let isUsageTold = false;
  const finishedChoices = new Set<number>();
  return {
    see(sseEvent: SseEvent): SeenEvent {
      const { event, data } = sseEvent;
      if (Buffer.isBuffer(data) && isDone(data)) {
        markerSeen = true;
        return FINAL;
      }
      const chunk = data === null ? null : parseObject(data);
      if (event === 'error' || isError(chunk)) return failedEvent(sseEvent, chunk);
      if (chunk === null) return PASS;
      const failed = failedPart(chunk);
      if (failed !== null) return { ...PASS, pass: false, failure: { said: readError(failed), relayed: null } };
      said?.see(chunk);
      if (makesUsageEvent) {
        first ??= headOf(chunk);
        isUsageTold ||= isSet(chunk['usage']);
      }
      for (const choice of choicesOf(chunk)) {
        deliveredBytes += generatedTextBytes(choice[textMember]);
        const index = choice['index'] ?? 0;
        if (isReason(choice['finish_reason']) && isIndex(index, choices)) finishedChoices.add(index);
      }
      const reported = usageIn(chunk);
      if (reported === null) return PASS;
      usage = laterUsage(usage, readOpenAiUsage(reported, totalExtra));
      return dropUsageChunk && isEmptyArray(chunk['choices']) ? DROP : PASS;
    },
    result: () => withSaid(meterResult(usage, deliveredBytes, markerSeen || finishedChoices.size >= choices), said),
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => Buffer.from(`data: ${chatErrorBody(error, requestId)}\n\n`),
    usageEvent: makesUsageEvent ? (told) => (isUsageTold ? null : usageEvent(first, told)) : undefined,
  };
}

/** What all chunks of a stream have in common; what is not as it should be is left out. */
function headOf({ id, object, created, model }: JsonRecord): JsonRecord {
  return { id: nameOf(id), object: nameOf(object), created: secondsOf(created), model: nameOf(model) };
}

function usageEvent(head: JsonRecord | null, { input, cachedInput, output }: TokenUsage): Buffer {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cachedInput },
  };
  return Buffer.from(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`);
}

/**
 * Reads a complete, decoded answer. Anything but a JSON object with a list of choices and without
 * an error is not finished.
 */
function readPlainChoices(
  textMember: string,
  body: Buffer | ParsedJson,
  { totalExtra, pricing }: Counting = {},
): MeterResult {
  const answer = parseObject(body);
  if (answer === null) return meterResult('malformed', 0, false);
  let deliveredBytes = 0;
  for (const choice of choicesOf(answer)) deliveredBytes += generatedTextBytes(choice[textMember]);
  const failed = isError(answer) ? answer : failedPart(answer);
  const finished = Array.isArray(answer['choices']) && failed === null;
  const result = meterResult(readOpenAiUsage(usageIn(answer), totalExtra), deliveredBytes, finished);
  return finished ? withSaid(result, saidIn(answer, pricing)) : withError(result, failed ?? answer);
}

/**
 * The part that tells an error: a choice (OpenRouter), or what Groq adds. Null: none does. Its text
 * is not relayed.
 */
function failedPart(answer: JsonRecord): JsonRecord | null {
  const own = answer['x_groq'];
  const parts = isRecord(own) ? [...choicesOf(answer), own] : choicesOf(answer);
  return parts.find((part) => saysError(part['error'])) ?? null;
}

/** Some say it by the kind of the object alone (vLLM before 0.10). */
function isError(answer: JsonRecord | null): boolean {
  return answer !== null && (saysError(answer['error']) || answer['object'] === 'error');
}

/**
 * Of an answer or a chunk: at its top; some providers put that of a stream into a choice, or under
 * their own name.
 */
function usageIn(answer: JsonRecord): unknown {
  const own = answer['x_groq'];
  const places = [answer, ...choicesOf(answer), ...(isRecord(own) ? [own] : [])];
  return places.find((place) => isSet(place['usage']))?.['usage'] ?? null;
}

function isDone(data: Buffer): boolean {
  return data.length <= DONE_BYTES_MAX && data.toString('latin1').trim() === '[DONE]';
}

function choicesOf(answer: JsonRecord): readonly JsonRecord[] {
  const { choices } = answer;
  return Array.isArray(choices) ? choices.filter(isRecord) : [];
}

/** Whether it is the index of one of so many choices. */
function isIndex(value: unknown, choices: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < choices;
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
