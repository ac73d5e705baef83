import { messagesErrorBody } from '@gateway/contracts/errors';
import { StoredIdReader, withIds } from '../stored-ids/answer-names.js';
import { readError } from '../errors/reported-error.js';
import type { ParsedJson } from '../json/json-reducer.js';
import { ReportedExtrasReader, readReportedExtras } from '../pricing/reported-extras.js';
import { isReason, isRecord, parseObject, hasError } from './answer-json.js';
import { AnthropicUsage } from './anthropic-usage.js';
import type { SseEvent } from './event-stream.js';
import { withError } from './failed-event.js';
import { generatedTextBytes, hasContent } from './generated-text.js';
import {
  type ResponseReader,
  type CountingOptions,
  EARLY,
  FINAL,
  type MeterResult,
  PASS,
  type EventHandling,
  type StreamMeter,
  type StreamMeterOptions,
} from './meter.js';
import { type UsageResult, UNREADABLE_USAGE, createMeterResult, withReportedExtras } from './read-usage.js';

/**
 * A refusal before any output is not charged, although its usage has counts
 * (platform.claude.com/docs/en/build-with-claude/refusals-and-fallback, 2026).
 */
const REFUSED = 'refusal';
const NOT_CHARGED: UsageResult = {
  usage: { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 },
  problem: null,
};

/** The reader of the messages protocol. */
export const messagesReader: ResponseReader = {
  streamMeter: messagesStreamMeter,
  readPlain: readPlainMessage,
  cutEndsNormally: false,
};

/**
 * Identifies events by the `type` of their data. Only some providers also send the `event` field.
 */
function messagesStreamMeter(options: StreamMeterOptions): StreamMeter {
  const { pricing } = options;
  const usage = new AnthropicUsage(options);
  const reported = pricing === undefined ? null : new ReportedExtrasReader(pricing);
  let deliveredBytes = 0;
  let isStopped = false;
  let isFinal = false;
  let isRefused = false;
  const ids = new StoredIdReader();
  return {
    read({ event, data }: SseEvent): EventHandling {
      const message = data === null ? null : parseObject(data);
      const type = message?.['type'];
      if (event === 'error' || type === 'error' || hasError(message?.['error'])) {
        usage.add(message?.['usage'], deliveredBytes);
        // On this endpoint an error has the gateway's code and text, also inside a stream
        // (specification, Errors).
        return { ...PASS, pass: false, failure: { reported: readError(message), relayed: null } };
      }
      if (message === null) return event === 'message_stop' ? final() : EARLY;
      switch (type) {
        case 'content_block_delta':
          deliveredBytes += generatedTextBytes(message['delta']);
          return hasContent(message['delta']) ? PASS : EARLY;
        case 'content_block_start':
          deliveredBytes += generatedTextBytes(message['content_block']);
          return hasContent(message['content_block']) ? PASS : EARLY;
        case 'message_start':
          usage.add(memberOf(message['message'], 'usage'), deliveredBytes);
          if (isRecord(message['message'])) reported?.read(message['message']);
          ids.readContainer(memberOf(message['message'], 'container'));
          return hasContent(memberOf(message['message'], 'content')) ? PASS : EARLY;
        case 'message_delta':
          isStopped ||= isReason(memberOf(message['delta'], 'stop_reason'));
          // The report with the stop reason counts the complete output.
          usage.add(message['usage'], isStopped ? Infinity : deliveredBytes);
          reported?.read(message);
          ids.readContainer(memberOf(message['delta'], 'container'));
          if (memberOf(message['delta'], 'stop_reason') === REFUSED) isRefused = true;
          return isReason(memberOf(message['delta'], 'stop_reason')) ? PASS : EARLY;
        case 'message_stop':
          return final();
        default:
          return EARLY;
      }
    },
    // Before the stop reason, the reported output counts only the first tokens. It is far too low
    // if the client leaves early, or if no later event reports the output. The input is complete
    // from the start.
    result: () => {
      const finished = isFinal || isStopped;
      if (isRefused && deliveredBytes === 0) return createMeterResult(NOT_CHARGED, 0, finished);
      return withIds(
        withReportedExtras(createMeterResult(usage.read(finished, deliveredBytes), deliveredBytes, finished), reported),
        ids,
      );
    },
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => Buffer.from(`event: error\ndata: ${messagesErrorBody(error, requestId)}\n\n`),
  };

  function final(): EventHandling {
    isFinal = true;
    return FINAL;
  }
}

function readPlainMessage(body: Buffer | ParsedJson, counting: CountingOptions = {}): MeterResult {
  const message = parseObject(body);
  if (message === null) return createMeterResult(UNREADABLE_USAGE, 0, false);
  const usage = new AnthropicUsage(counting);
  usage.add(message['usage']);
  const isMessage = message['type'] === 'message' || Array.isArray(message['content']);
  const finished = isMessage && message['type'] !== 'error' && !hasError(message['error']);
  const textBytes = generatedTextBytes(message['content']);
  const isFree = message['stop_reason'] === REFUSED && textBytes === 0;
  const result = createMeterResult(isFree ? NOT_CHARGED : usage.read(), textBytes, finished);
  const ids = new StoredIdReader();
  ids.readContainer(message['container']);
  return finished
    ? withIds(withReportedExtras(result, readReportedExtras(message, counting.pricing)), ids)
    : withError(result, message);
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
