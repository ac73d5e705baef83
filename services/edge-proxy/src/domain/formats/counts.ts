import { scanObject } from '../json/json-scanner.js';
import { parseObject, saysError } from './answer-json.js';
import { withError } from './failed-event.js';
import type { MeterResult } from './meter.js';
import { readEmbeddingsUsage } from './openai-usage.js';
import { meterResult } from './read-usage.js';

const OPENING_BRACKET = 0x5b;

/**
 * Reads a complete embeddings answer. It may hold megabytes of numbers, so only its usage is
 * parsed; the rest is scanned. No text is generated.
 */
export function readEmbeddings(body: Buffer): MeterResult {
  const scanned = scanObject(body);
  if (!scanned.ok) return meterResult('malformed', 0, false);
  const last = (name: string): unknown => {
    const member = scanned.members.findLast((each) => each.name === name);
    return member === undefined ? undefined : JSON.parse(body.toString('utf8', member.start, member.end));
  };
  const error = last('error');
  const hasData = body[scanned.members.findLast(({ name }) => name === 'data')?.start ?? -1] === OPENING_BRACKET;
  const finished = hasData && !saysError(error);
  const result = meterResult(readEmbeddingsUsage(last('usage')), 0, finished);
  if (finished) return result;
  const telling = {
    error,
    message: last('message'),
    detail: last('detail'),
    code: last('code'),
    base_resp: last('base_resp'),
  };
  return withError(result, telling);
}

/**
 * Reads a complete answer of count_tokens, which is never billed: all that matters is that it is
 * one.
 */
export function readTokenCount(body: Buffer): MeterResult {
  const answer = parseObject(body);
  const isAnswer = answer !== null && typeof answer['input_tokens'] === 'number' && !saysError(answer['error']);
  const result = meterResult('absent', 0, isAnswer);
  return isAnswer || answer === null ? result : withError(result, answer);
}
