import { chatErrorBody } from '@gateway/contracts/errors';
import type { TokenUsage } from '@gateway/metering';
import type { SseEvent } from './event-stream.js';
import {
  isReason,
  isRecord,
  isSet,
  readName,
  parseObject,
  hasError,
  readSeconds,
  type JsonRecord,
} from './answer-json.js';
import type { ParsedJson } from '../json/json-reducer.js';
import { generatedTextBytes, hasContent } from './generated-text.js';
import { readError } from '../errors/reported-error.js';
import { readFailedEvent, withError } from './failed-event.js';
import { DROP, EARLY, FINAL, PASS } from './meter.js';
import type {
  ResponseReader,
  CountingOptions,
  MeterResult,
  EventHandling,
  StreamMeter,
  StreamMeterOptions,
} from './meter.js';
import { readOpenAiUsage } from './openai-usage.js';
import { ReportedExtrasReader, readReportedExtras } from '../pricing/reported-extras.js';
import {
  hasInputAndOutput,
  createMeterResult,
  UNREADABLE_USAGE,
  UsageTally,
  withReportedExtras,
} from './read-usage.js';

/** Length of `[DONE]`, with room for white space around it. */
const DONE_BYTES_MAX = 16;
/** A stream that ended without any choice. */
const NO_ANSWER: EventHandling = { ...PASS, pass: false, failure: { reported: null, relayed: null } };

/**
 * Creates the reader for responses that are lists of choices: chat and legacy completions.
 * @param streamed the member of a streamed choice that holds its text
 * @param plain the member of a plain choice that holds its text
 */
export function createChoicesReader(streamed: string, plain: string): ResponseReader {
  return {
    streamMeter: (options) => createChoicesMeter(streamed, options),
    readPlain: (body, counting) => readPlainChoices(plain, body, counting),
    cutEndsNormally: false,
  };
}

/**
 * Parses every event. For a typical event this takes less than 1 µs, about as long as searching its
 * bytes for usage, errors, finish reasons and text.
 */
function createChoicesMeter(textMember: string, options: StreamMeterOptions): StreamMeter {
  const { dropUsageChunk, makesUsageEvent = false, choices, totalExtra, pricing, cacheWriteTtl1h } = options;
  const reported = pricing === undefined ? null : new ReportedExtrasReader(pricing);
  const usage = new UsageTally((value) => readOpenAiUsage(value, totalExtra), cacheWriteTtl1h);
  let deliveredBytes = 0;
  let markerSeen = false;
  let first: JsonRecord | null = null;
  let isUsageTold = false;
  let hasChoice = false;
  const finishedChoices = new Set<unknown>();
  return {
    read(sseEvent: SseEvent): EventHandling {
      const { event, data } = sseEvent;
      if (Buffer.isBuffer(data) && isDone(data)) {
        if (!hasChoice) return NO_ANSWER;
        markerSeen = true;
        return FINAL;
      }
      const chunk = data === null ? null : parseObject(data);
      let hasUsage = false;
      if (chunk !== null) {
        for (const reported of listUsages(chunk)) {
          hasUsage = true;
          usage.add(reported, deliveredBytes + countTextBytes(chunk, textMember));
        }
      }
      if (event === 'error' || isError(chunk)) return readFailedEvent(sseEvent, chunk);
      if (chunk === null) return EARLY;
      const failed = findFailedPart(chunk);
      if (failed !== null) return { ...PASS, pass: false, failure: { reported: readError(failed), relayed: null } };
      reported?.read(chunk);
      if (makesUsageEvent) {
        first ??= readChunkHead(chunk);
        isUsageTold ||= hasInputAndOutput(readOpenAiUsage(chunk['usage']));
      }
      let isShown = false;
      let isBare = true;
      for (const choice of listChoices(chunk)) {
        hasChoice = true;
        deliveredBytes += generatedTextBytes(choice[textMember]);
        const index = choice['index'] ?? 0;
        const hasReason = isReason(choice['finish_reason']);
        isShown ||= hasReason || hasContent(choice[textMember]) || hasContent(choice['logprobs']);
        isBare &&= finishedChoices.has(index) || !isRecord(choice[textMember]) || !isSet(choice[textMember]['role']);
        if (hasReason && isIndex(index, choices)) finishedChoices.add(index);
      }
      if (isShown) return PASS;
      return dropUsageChunk && hasUsage && isBare ? DROP : EARLY;
    },
    result: () =>
      withReportedExtras(
        createMeterResult(usage.read(deliveredBytes), deliveredBytes, markerSeen || finishedChoices.size >= choices),
        reported,
      ),
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => Buffer.from(`data: ${chatErrorBody(error, requestId)}\n\n`),
    usageEvent: makesUsageEvent ? (told) => (isUsageTold ? null : buildUsageEvent(first, told)) : undefined,
  };
}

/** Returns the members that all chunks of a stream have in common, without invalid values. */
function readChunkHead({ id, object, created, model }: JsonRecord): JsonRecord {
  return { id: readName(id), object: readName(object), created: readSeconds(created), model: readName(model) };
}

function buildUsageEvent(head: JsonRecord | null, { input, cachedInput, output }: TokenUsage): Buffer {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cachedInput },
  };
  return Buffer.from(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`);
}

/**
 * Reads a complete response without content encoding. It is usable only as a JSON object with a
 * choice and without an error.
 */
function readPlainChoices(textMember: string, body: Buffer | ParsedJson, counting: CountingOptions = {}): MeterResult {
  const { totalExtra, pricing, cacheWriteTtl1h } = counting;
  const answer = parseObject(body);
  if (answer === null) return createMeterResult(UNREADABLE_USAGE, 0, false);
  const deliveredBytes = countTextBytes(answer, textMember);
  const failed = isError(answer) ? answer : findFailedPart(answer);
  const finished = listChoices(answer).length > 0 && failed === null;
  const usage = new UsageTally((value) => readOpenAiUsage(value, totalExtra), cacheWriteTtl1h);
  for (const reported of listUsages(answer)) usage.add(reported);
  const result = createMeterResult(usage.read(), deliveredBytes, finished);
  return finished
    ? withReportedExtras(result, readReportedExtras(answer, pricing))
    : withError(result, failed ?? answer);
}

/**
 * Returns the part that reports an error: a choice (OpenRouter), or the member that Groq adds. Null
 * if there is none. The text of the error is not relayed.
 */
function findFailedPart(answer: JsonRecord): JsonRecord | null {
  const own = answer['x_groq'];
  const parts = isRecord(own) ? [...listChoices(answer), own] : listChoices(answer);
  return parts.find((part) => hasError(part['error'])) ?? null;
}

/** Some providers report an error only by the type of the object (vLLM before 0.10). */
function isError(answer: JsonRecord | null): boolean {
  return answer !== null && (hasError(answer['error']) || answer['object'] === 'error');
}

/**
 * Yields the usages of a response or a chunk. Most providers report usage at the top level, some in
 * a choice or under their own name.
 */
function* listUsages(answer: JsonRecord): Iterable<unknown> {
  if (isSet(answer['usage'])) yield answer['usage'];
  for (const choice of listChoices(answer)) if (isSet(choice['usage'])) yield choice['usage'];
  const own = answer['x_groq'];
  if (isRecord(own) && isSet(own['usage'])) yield own['usage'];
}

function countTextBytes(answer: JsonRecord, textMember: string): number {
  return listChoices(answer).reduce((bytes, choice) => bytes + generatedTextBytes(choice[textMember]), 0);
}

function isDone(data: Buffer): boolean {
  return data.length <= DONE_BYTES_MAX && data.toString('latin1').trim() === '[DONE]';
}

function listChoices(answer: JsonRecord): readonly JsonRecord[] {
  const { choices } = answer;
  return Array.isArray(choices) ? choices.filter(isRecord) : [];
}

/** Returns whether the value is a valid index for this number of choices. */
function isIndex(value: unknown, choices: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < choices;
}
