import { chatErrorBody } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { Frame } from '../event-stream.js';
import { generatedTextBytes } from './generated-text.js';
import type { MeterResult, SeenFrame, StreamMeter, StreamMeterOptions } from './meter.js';
import { isRecord, readOpenAiUsage } from './openai-usage.js';
import type { ReadUsage } from './openai-usage.js';

const PASS: SeenFrame = { pass: true, final: false, providerError: false };
const DROP: SeenFrame = { pass: false, final: false, providerError: false };
const FINAL: SeenFrame = { pass: true, final: true, providerError: false };
const PROVIDER_ERROR: SeenFrame = { pass: true, final: false, providerError: true };

/** `[DONE]`, with room for white space around it. */
const DONE_BYTES_MAX = 16;

/**
 * The meter of a chat-completions stream. Every frame is parsed: on a typical one that costs what byte tests for usage,
 * errors, finish reasons and text cost together, under 1 µs, and nothing is guessed.
 */
export function chatStreamMeter({ dropUsageFrame, choices }: StreamMeterOptions): StreamMeter {
  let usage: ReadUsage = 'absent';
  let deliveredBytes = 0;
  let markerSeen = false;
  const finishedChoices = new Set<unknown>();
  return {
    see({ event, data }: Frame): SeenFrame {
      if (data !== null && isDone(data)) {
        markerSeen = true;
        return FINAL;
      }
      const chunk = data === null ? null : parseObject(data);
      if (event === 'error' || isSet(chunk?.['error'])) return PROVIDER_ERROR;
      if (chunk === null) return PASS;
      for (const choice of choicesOf(chunk)) {
        deliveredBytes += generatedTextBytes(choice['delta']);
        if (isSet(choice['finish_reason'])) finishedChoices.add(choice['index'] ?? 0);
      }
      if (!isSet(chunk['usage'])) return PASS;
      usage = readOpenAiUsage(chunk['usage']);
      return dropUsageFrame && isEmptyArray(chunk['choices']) ? DROP : PASS;
    },
    result: () => resultOf(usage, deliveredBytes, markerSeen || finishedChoices.size >= choices),
  };
}

/** Reads a complete, decoded chat-completions answer. Anything but a JSON object without `error` is not finished. */
export function readPlainChat(body: Buffer): MeterResult {
  const answer = parseObject(body);
  if (answer === null) return resultOf('malformed', 0, false);
  let deliveredBytes = 0;
  for (const choice of choicesOf(answer)) deliveredBytes += generatedTextBytes(choice['message']);
  return resultOf(readOpenAiUsage(answer['usage']), deliveredBytes, !isSet(answer['error']));
}

/** How the gateway ends a cut chat stream (behaviour §3): an error event, and neither `[DONE]` nor a proper end after it. */
export function chatCutEnding(error: GatewayError, requestId: string): Buffer {
  return Buffer.from(`data: ${chatErrorBody(error, requestId)}\n\n`);
}

function resultOf(usage: ReadUsage, deliveredBytes: number, finished: boolean): MeterResult {
  return typeof usage === 'string'
    ? { usage: null, problem: usage, deliveredBytes, finished }
    : { usage, problem: null, deliveredBytes, finished };
}

function isDone(data: Buffer): boolean {
  return data.length <= DONE_BYTES_MAX && data.toString('latin1').trim() === '[DONE]';
}

function parseObject(json: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json.toString());
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function choicesOf(answer: Record<string, unknown>): readonly Record<string, unknown>[] {
  const { choices } = answer;
  return Array.isArray(choices) ? choices.filter(isRecord) : [];
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
