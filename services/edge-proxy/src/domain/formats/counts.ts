import { scanObject } from '../json-scanner.js';
import { parseObject, saysError } from './answer-json.js';
import type { MeterResult } from './meter.js';
import { readEmbeddingsUsage } from './openai-usage.js';
import { meterResult } from './read-usage.js';

/**
 * Reads a complete embeddings answer. It may hold megabytes of numbers, so only its usage is parsed; the rest is scanned.
 * No text is generated.
 */
export function readEmbeddings(body: Buffer): MeterResult {
  const scanned = scanObject(body);
  if (!scanned.ok) return meterResult('malformed', 0, false);
  const last = (name: string): unknown => {
    const member = scanned.members.findLast((each) => each.name === name);
    return member === undefined ? undefined : JSON.parse(body.toString('utf8', member.start, member.end));
  };
  return meterResult(readEmbeddingsUsage(last('usage')), 0, !saysError(last('error')));
}

/** Reads a complete answer of count_tokens, which is never billed: all that matters is that it is one. */
export function readTokenCount(body: Buffer): MeterResult {
  const answer = parseObject(body);
  const isAnswer = answer !== null && answer['type'] !== 'error' && !saysError(answer['error']);
  return meterResult('absent', 0, isAnswer);
}
