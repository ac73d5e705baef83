import { type GatewayError, chatErrorObject } from '@gateway/contracts/errors';
import { StoredIdReader, withIds } from '../stored-ids/answer-names.js';
import type { ParsedJson } from '../json/json-reducer.js';
import { ReportedExtrasReader, readReportedExtras } from '../pricing/reported-extras.js';
import { type JsonRecord, isRecord, readName, parseObject, hasError, readSeconds } from './answer-json.js';
import type { SseEvent } from './event-stream.js';
import { readFailedResponse, readFailedEvent, withError } from './failed-event.js';
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
import { readResponsesUsage } from './openai-usage.js';
import { UNREADABLE_USAGE, UsageTally, isTokens, createMeterResult, withReportedExtras } from './read-usage.js';

/** The reader of the responses protocol. */
export const responsesReader: ResponseReader = {
  streamMeter: responsesStreamMeter,
  readPlain: readPlainResponse,
  cutEndsNormally: true,
};

/**
 * The members that the ending of a cut stream repeats. Keeping the whole response would take too
 * much memory.
 */
interface ResponseHead {
  readonly id: string;
  readonly createdAt: number | undefined;
  readonly model: string | undefined;
}

/** Events that report the state of a response, without content. */
const STATES: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);
/** Types of items and parts that are empty at first. Items of other types are tool calls. */
const EMPTY_AT_FIRST: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'output_text',
  'refusal',
  'reasoning_text',
  'summary_text',
  'mcp_list_tools',
]);

/** Identifies events by the `type` of their data. The `event` field repeats it. */
function responsesStreamMeter({ totalExtra, pricing, cacheWriteTtl1h }: StreamMeterOptions): StreamMeter {
  const reported = pricing === undefined ? null : new ReportedExtrasReader(pricing);
  const usage = new UsageTally((value) => readResponsesUsage(value, totalExtra), cacheWriteTtl1h);
  let deliveredBytes = 0;
  let isFinal = false;
  let nextNumber = 0;
  let begun: ResponseHead | null = null;
  const ids = new StoredIdReader();
  return {
    read(sseEvent: SseEvent): EventHandling {
      const { event, data } = sseEvent;
      const message = data === null ? null : parseObject(data);
      if (message === null)
        return event === 'error' || event === 'response.failed' ? readFailedEvent(sseEvent, null) : EARLY;
      const { type, sequence_number: number, response } = message;
      if (isTokens(number)) nextNumber = number + 1;
      if (typeof type === 'string' && type.endsWith('.delta') && !type.startsWith('response.audio.')) {
        deliveredBytes += generatedTextBytes(message['delta']);
        return message['delta'] === '' ? EARLY : PASS;
      }
      if (isRecord(response)) {
        begun ??= readResponseHead(response);
        ids.readResponse(response);
        usage.add(response['usage'], deliveredBytes);
      }
      usage.add(message['usage'], deliveredBytes);
      switch (type) {
        case 'response.output_item.added':
          deliveredBytes += countNameBytes(message['item']);
          ids.readItem(message['item']);
          return isOpening(message['item']) ? EARLY : PASS;
        case 'response.output_item.done':
          ids.readItem(message['item']);
          reported?.readItem(message['item']);
          return isOpening(message['item']) ? EARLY : PASS;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.cancelled':
          // Earlier events have the requested class, not the served one.
          if (isRecord(response)) reported?.read(response);
          isFinal = true;
          return FINAL;
        case 'response.failed':
          return withUnexplained(readFailedEvent(sseEvent, message));
        case 'error':
          return readFailedEvent(sseEvent, message);
        default:
          if (event === 'error' || hasError(message['error'])) return readFailedEvent(sseEvent, message);
          return hasNoContent(message) ? EARLY : PASS;
      }
    },
    result: () =>
      withIds(
        withReportedExtras(createMeterResult(usage.read(deliveredBytes), deliveredBytes, isFinal), reported),
        ids,
      ),
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => buildCutEnding(error, requestId, begun, nextNumber),
  };
}

/**
 * Reads a complete response. A response that the provider marks as failed is not finished, but may
 * be relayed to the client.
 */
function readPlainResponse(body: Buffer | ParsedJson, counting: CountingOptions = {}): MeterResult {
  const { totalExtra, pricing, cacheWriteTtl1h } = counting;
  const response = parseObject(body);
  if (response === null) return createMeterResult(UNREADABLE_USAGE, 0, false);
  const isResponse = Array.isArray(response['output']) || response['object'] === 'response';
  const hasFailed = response['status'] === 'failed' || hasError(response['error']);
  const usage = new UsageTally((value) => readResponsesUsage(value, totalExtra), cacheWriteTtl1h);
  usage.add(response['usage']);
  const ids = new StoredIdReader();
  if (isResponse) ids.readResponse(response);
  const textBytes = generatedTextBytes(response['output']);
  const result = withIds(createMeterResult(usage.read(), textBytes, isResponse && !hasFailed), ids);
  if (result.finished) return withReportedExtras(result, readReportedExtras(response, pricing));
  return isResponse ? { ...result, failure: readFailedResponse(body, response) } : withError(result, response);
}

/** Returns whether an item or part has been opened, but has no content. */
function isOpening(value: unknown): boolean {
  return isRecord(value) && EMPTY_AT_FIRST.has(value['type']) && !hasContent(value);
}

/** Returns whether an event other than a delta or an end has no content. */
function hasNoContent({ type, item, part, text }: JsonRecord): boolean {
  if (typeof type !== 'string' || !type.startsWith('response.') || STATES.has(type)) return true;
  if (type.startsWith('response.mcp_list_tools.')) return true;
  return isOpening(item) || isOpening(part) || text === '';
}

/** Marks a failure without a reason as unexplained: the next event may have the reason. */
function withUnexplained(seen: EventHandling): EventHandling {
  const { failure } = seen;
  return failure?.reported === null ? { ...seen, failure: { ...failure, isUnexplained: true } } : seen;
}

function readResponseHead(response: JsonRecord): ResponseHead | null {
  const id = readName(response['id']);
  if (id === undefined) return null;
  return { id, createdAt: readSeconds(response['created_at']), model: readName(response['model']) };
}

/** Counts the bytes of a called function's name: only its arguments arrive as deltas. */
function countNameBytes(item: unknown): number {
  return isRecord(item) ? generatedTextBytes(item['name']) : 0;
}

/**
 * Fails the response under its own ID, with the next number. An error event follows, which has its
 * fields twice: flat, as in the protocol, and nested, as client libraries expect them.
 */
function buildCutEnding(
  error: GatewayError,
  requestId: string,
  begun: ResponseHead | null,
  nextNumber: number,
): Buffer {
  const { code, message, param } = error;
  const response = {
    id: begun?.id ?? `resp_${requestId.replaceAll('-', '')}`,
    object: 'response',
    created_at: begun?.createdAt ?? null,
    status: 'failed',
    error: { code, message },
    incomplete_details: null,
    model: begun?.model ?? null,
    output: [],
    usage: null,
  };
  const failed = { type: 'response.failed', sequence_number: nextNumber, response };
  const flat = { type: 'error', sequence_number: nextNumber + 1, code, message, param };
  const nested = { ...flat, error: chatErrorObject(error, requestId) };
  return Buffer.from(
    `event: response.failed\ndata: ${JSON.stringify(failed)}\n\nevent: error\ndata: ${JSON.stringify(nested)}\n\n`,
  );
}
