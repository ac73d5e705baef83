import type { AnswerFormat } from './endpoints.js';
import { JsonReducer, type ParsedJson } from '../json/json-reducer.js';
import { parseObject, saysError } from './answer-json.js';
import { KEPT_ANSWER_BYTES_MAX, answerShape } from './answer-shape.js';
import { choicesReader } from './choices.js';
import { withError } from './failed-event.js';
import { messagesReader } from './messages.js';
import type { AnswerReader, MeterResult } from './meter.js';
import { readEmbeddingsUsage } from './openai-usage.js';
import { NO_USAGE, UNREADABLE_USAGE, UsageTally, meterResult } from './read-usage.js';
import { responsesReader } from './responses.js';

/** The reader of each answer format. */
export const READERS: Readonly<Record<AnswerFormat, AnswerReader>> = {
  chat: choicesReader('delta', 'message'),
  completion: choicesReader('text', 'text'),
  message: messagesReader,
  response: responsesReader,
  embedding: plainReader(readEmbeddings),
  token_count: plainReader(readTokenCount),
};

/** Of a format that is never streamed: its endpoints have no field that asks for a stream. */
function plainReader(readPlain: AnswerReader['readPlain']): AnswerReader {
  return {
    readPlain,
    streamMeter: () => {
      throw new TypeError('answers of this format are never streamed');
    },
    cutEndsNormally: false,
  };
}

/**
 * Reads a complete embeddings answer. It may hold a megabyte of numbers, which are not parsed. No
 * text is generated.
 */
export function readEmbeddings(body: Buffer | ParsedJson): MeterResult {
  const answer = Buffer.isBuffer(body) ? reduced(body) : body.object;
  if (answer === null) return meterResult(UNREADABLE_USAGE, 0, false);
  const finished = Array.isArray(answer['data']) && !saysError(answer['error']);
  const usage = new UsageTally(readEmbeddingsUsage);
  usage.see(answer['usage']);
  const result = meterResult(usage.read(), 0, finished);
  return finished ? result : withError(result, answer);
}

function reduced(body: Buffer): ParsedJson['object'] {
  const reducer = new JsonReducer(answerShape(undefined), KEPT_ANSWER_BYTES_MAX);
  reducer.write(body);
  return reducer.object;
}

/**
 * Reads a complete answer of count_tokens, which is never billed: all that matters is that it is
 * one.
 */
export function readTokenCount(body: Buffer | ParsedJson): MeterResult {
  const answer = parseObject(body);
  const isAnswer = answer !== null && typeof answer['input_tokens'] === 'number' && !saysError(answer['error']);
  const result = meterResult(NO_USAGE, 0, isAnswer);
  return isAnswer || answer === null ? result : withError(result, answer);
}
