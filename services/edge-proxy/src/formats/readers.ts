import type { ResponseFormat } from './endpoints.js';
import { JsonReducer, type ParsedJson } from '../json/json-reducer.js';
import { parseObject, hasError } from './answer-json.js';
import { KEPT_ANSWER_BYTES_MAX, toResponseShape } from './answer-shape.js';
import { createChoicesReader } from './choices.js';
import { withError } from './failed-event.js';
import { messagesReader } from './messages.js';
import type { ResponseReader, MeterResult } from './meter.js';
import { readEmbeddingsUsage } from './openai-usage.js';
import { NO_USAGE, UNREADABLE_USAGE, UsageTally, createMeterResult } from './read-usage.js';
import { responsesReader } from './responses.js';

/** The reader of each response format. */
export const READERS: Readonly<Record<ResponseFormat, ResponseReader>> = {
  chat: createChoicesReader('delta', 'message'),
  completion: createChoicesReader('text', 'text'),
  message: messagesReader,
  response: responsesReader,
  embedding: createPlainReader(readEmbeddings),
  token_count: createPlainReader(readTokenCount),
};

/** Creates the reader of a format without streams: its endpoints have no `stream` field. */
function createPlainReader(readPlain: ResponseReader['readPlain']): ResponseReader {
  return {
    readPlain,
    streamMeter: () => {
      throw new TypeError('responses of this format are never streamed');
    },
    cutEndsNormally: false,
  };
}

/**
 * Reads a complete embeddings response. It may hold a megabyte of numbers, which are not parsed,
 * and has no generated text.
 */
export function readEmbeddings(body: Buffer | ParsedJson): MeterResult {
  const answer = Buffer.isBuffer(body) ? reduceJson(body) : body.object;
  if (answer === null) return createMeterResult(UNREADABLE_USAGE, 0, false);
  const finished = Array.isArray(answer['data']) && !hasError(answer['error']);
  const usage = new UsageTally(readEmbeddingsUsage);
  usage.add(answer['usage']);
  const result = createMeterResult(usage.read(), 0, finished);
  return finished ? result : withError(result, answer);
}

function reduceJson(body: Buffer): ParsedJson['object'] {
  const reducer = new JsonReducer(toResponseShape(undefined), KEPT_ANSWER_BYTES_MAX);
  reducer.write(body);
  return reducer.object;
}

/**
 * Reads a complete response of count_tokens. It is never billed, so only its validity is checked.
 */
export function readTokenCount(body: Buffer | ParsedJson): MeterResult {
  const answer = parseObject(body);
  const isAnswer = answer !== null && typeof answer['input_tokens'] === 'number' && !hasError(answer['error']);
  const result = createMeterResult(NO_USAGE, 0, isAnswer);
  return isAnswer || answer === null ? result : withError(result, answer);
}
