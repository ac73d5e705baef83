import { type GatewayError, chatErrorObject } from '@gateway/contracts/errors';
import { StoredIdReader, withIds } from '../stored-ids/answer-names.js';
import type { ParsedJson } from '../json/json-reducer.js';
import { SaidReader, saidIn } from '../pricing/said-extras.js';
import { type JsonRecord, isRecord, nameOf, parseObject, saysError, secondsOf } from './answer-json.js';
import type { SseEvent } from './event-stream.js';
import { failedAnswer, failedEvent, withError } from './failed-event.js';
import { generatedTextBytes, showsAnswer } from './generated-text.js';
import {
  type AnswerReader,
  type Counting,
  EARLY,
  FINAL,
  type MeterResult,
  PASS,
  type SeenEvent,
  type StreamMeter,
  type StreamMeterOptions,
} from './meter.js';
import { readResponsesUsage } from './openai-usage.js';
import { UNREADABLE_USAGE, UsageTally, isTokens, meterResult, withSaid } from './read-usage.js';

/** The reader of the responses protocol. */
export const responsesReader: AnswerReader = {
  streamMeter: responsesStreamMeter,
  readPlain: readPlainResponse,
  cutEndsNormally: true,
};

/**
 * What the ending of a cut stream repeats of its beginning: of a whole response too much would have
 * to be kept.
 */
interface Begun {
  readonly id: string;
  readonly createdAt: number | undefined;
  readonly model: string | undefined;
}

/** Events that tell the state of a response, and show nothing of an answer. */
const STATES: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);
/** Items and parts that are empty at first. Items of other types are calls of tools. */
const EMPTY_AT_FIRST: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'output_text',
  'refusal',
  'reasoning_text',
  'summary_text',
  'mcp_list_tools',
]);

/** Events are told by the `type` of their data: the `event` field repeats it. */
function responsesStreamMeter({ totalExtra, pricing, cacheWriteTtl1h }: StreamMeterOptions): StreamMeter {
  const said = pricing === undefined ? null : new SaidReader(pricing);
  const usage = new UsageTally((value) => readResponsesUsage(value, totalExtra), cacheWriteTtl1h);
  let deliveredBytes = 0;
  let isFinal = false;
  let nextNumber = 0;
  let begun: Begun | null = null;
  const ids = new StoredIdReader();
  return {
    see(sseEvent: SseEvent): SeenEvent {
      const { event, data } = sseEvent;
      const message = data === null ? null : parseObject(data);
      if (message === null)
        return event === 'error' || event === 'response.failed' ? failedEvent(sseEvent, null) : EARLY;
      const { type, sequence_number: number, response } = message;
      if (isTokens(number)) nextNumber = number + 1;
      if (typeof type === 'string' && type.endsWith('.delta') && !type.startsWith('response.audio.')) {
        deliveredBytes += generatedTextBytes(message['delta']);
        return message['delta'] === '' ? EARLY : PASS;
      }
      if (isRecord(response)) {
        begun ??= begunOf(response);
        ids.seeResponse(response);
        usage.see(response['usage'], deliveredBytes);
      }
      usage.see(message['usage'], deliveredBytes);
      switch (type) {
        case 'response.output_item.added':
          deliveredBytes += nameBytes(message['item']);
          ids.seeItem(message['item']);
          return begins(message['item']) ? EARLY : PASS;
        case 'response.output_item.done':
          ids.seeItem(message['item']);
          said?.seeItem(message['item']);
          return begins(message['item']) ? EARLY : PASS;
        case 'response.completed':
        case 'response.incomplete':
        case 'response.cancelled':
          // What came before says what was asked for, not what was served.
          if (isRecord(response)) said?.see(response);
          isFinal = true;
          return FINAL;
        case 'response.failed':
          return failedResponse(failedEvent(sseEvent, message));
        case 'error':
          return failedEvent(sseEvent, message);
        default:
          if (event === 'error' || saysError(message['error'])) return failedEvent(sseEvent, message);
          return showsNothing(message) ? EARLY : PASS;
      }
    },
    result: () => withIds(withSaid(meterResult(usage.read(deliveredBytes), deliveredBytes, isFinal), said), ids),
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => cutEnding(error, requestId, begun, nextNumber),
  };
}

/**
 * Reads a complete response. One that the provider marks as failed is none, but it may go to the
 * client as it is.
 */
function readPlainResponse(body: Buffer | ParsedJson, counting: Counting = {}): MeterResult {
  const { totalExtra, pricing, cacheWriteTtl1h } = counting;
  const response = parseObject(body);
  if (response === null) return meterResult(UNREADABLE_USAGE, 0, false);
  const isResponse = Array.isArray(response['output']) || response['object'] === 'response';
  const hasFailed = response['status'] === 'failed' || saysError(response['error']);
  const usage = new UsageTally((value) => readResponsesUsage(value, totalExtra), cacheWriteTtl1h);
  usage.see(response['usage']);
  const ids = new StoredIdReader();
  if (isResponse) ids.seeResponse(response);
  const textBytes = generatedTextBytes(response['output']);
  const result = withIds(meterResult(usage.read(), textBytes, isResponse && !hasFailed), ids);
  if (result.finished) return withSaid(result, saidIn(response, pricing));
  return isResponse ? { ...result, failure: failedAnswer(body, response) } : withError(result, response);
}

/** An item or part that has only been opened. */
function begins(value: unknown): boolean {
  return isRecord(value) && EMPTY_AT_FIRST.has(value['type']) && !showsAnswer(value);
}

/** Whether an event that is neither a delta nor an end shows nothing of an answer. */
function showsNothing({ type, item, part, text }: JsonRecord): boolean {
  if (typeof type !== 'string' || !type.startsWith('response.') || STATES.has(type)) return true;
  if (type.startsWith('response.mcp_list_tools.')) return true;
  return begins(item) || begins(part) || text === '';
}

/** One without a reason may have it in the event behind it. */
function failedResponse(seen: SeenEvent): SeenEvent {
  const { failure } = seen;
  return failure?.said === null ? { ...seen, failure: { ...failure, isUnexplained: true } } : seen;
}

function begunOf(response: JsonRecord): Begun | null {
  const id = nameOf(response['id']);
  if (id === undefined) return null;
  return { id, createdAt: secondsOf(response['created_at']), model: nameOf(response['model']) };
}

/** The name of a called function: its arguments come as deltas, its name does not. */
function nameBytes(item: unknown): number {
  return isRecord(item) ? generatedTextBytes(item['name']) : 0;
}

/**
 * The response fails under its own id, with the next number; then an error event with the fields
 * flat, as the protocol has them, and nested, as client libraries look for them.
 */
function cutEnding(error: GatewayError, requestId: string, begun: Begun | null, nextNumber: number): Buffer {
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
