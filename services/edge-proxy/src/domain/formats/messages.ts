import { messagesErrorBody, type GatewayError } from '@gateway/contracts/errors';
import type { Frame } from '../event-stream.js';
import { AnthropicUsage } from './anthropic-usage.js';
import { isRecord, isSet, parseObject, saysError } from './answer-json.js';
import { generatedTextBytes } from './generated-text.js';
import { statusError } from '../provider-error.js';
import { FINAL, PASS } from './meter.js';
import type { AnswerReader, MeterResult, SeenFrame, StreamMeter } from './meter.js';
import { meterResult } from './read-usage.js';

/** The reader of the messages protocol. */
export const messagesReader: AnswerReader = {
  streamMeter: messagesStreamMeter,
  readPlain: readPlainMessage,
  cutEndsNormally: false,
};

/** Events are told by the `type` of their data: the `event` field repeats it, and only for some providers. */
function messagesStreamMeter(): StreamMeter {
  const usage = new AnthropicUsage();
  let deliveredBytes = 0;
  let isStopped = false;
  let isFinal = false;
  return {
    see({ event, data }: Frame): SeenFrame {
      const message = data === null ? null : parseObject(data);
      const type = message?.['type'];
      if (event === 'error' || type === 'error' || saysError(message?.['error'])) {
        return { pass: false, final: false, providerError: true, error: errorOf(message?.['error']) };
      }
      if (message === null) return event === 'message_stop' ? final() : PASS;
      switch (type) {
        case 'content_block_delta':
          deliveredBytes += generatedTextBytes(message['delta']);
          return PASS;
        case 'content_block_start':
          deliveredBytes += generatedTextBytes(message['content_block']);
          return PASS;
        case 'message_start':
          usage.see(memberOf(message['message'], 'usage'));
          return PASS;
        case 'message_delta':
          usage.see(message['usage']);
          if (isSet(memberOf(message['delta'], 'stop_reason'))) isStopped = true;
          return PASS;
        case 'message_stop':
          return final();
        default:
          return PASS;
      }
    },
    result: () => resultOf(usage, deliveredBytes, isFinal || isStopped),
    hasText: () => deliveredBytes > 0,
    cutEnding: (error, requestId) => Buffer.from(`event: error\ndata: ${messagesErrorBody(error, requestId)}\n\n`),
  };

  function final(): SeenFrame {
    isFinal = true;
    return FINAL;
  }
}

/**
 * Before the stop reason the reported output is that of the first tokens only: it would be far too little for a client
 * that leaves in the middle. The input is right from the start, its cached part too.
 */
function resultOf(usage: AnthropicUsage, deliveredBytes: number, finished: boolean): MeterResult {
  const read = usage.read();
  if (finished || typeof read === 'string') return meterResult(read, deliveredBytes, finished);
  return { usage: null, problem: 'absent', begun: read, deliveredBytes, finished };
}

/**
 * On this endpoint an error has the gateway's code and text, also inside a stream (specification, Errors): what the provider says
 * only chooses them, as its status would.
 */
function errorOf(error: unknown): GatewayError {
  const type = isRecord(error) ? error['type'] : undefined;
  const status = typeof type === 'string' ? STATUS_OF_ERROR[type] : undefined;
  return statusError(status ?? 502, 'messages', null, undefined);
}

/** The provider's kinds of errors with the status that each has outside of a stream. */
const STATUS_OF_ERROR: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

function readPlainMessage(body: Buffer): MeterResult {
  const message = parseObject(body);
  if (message === null) return meterResult('malformed', 0, false);
  const usage = new AnthropicUsage();
  usage.see(message['usage']);
  const isError = message['type'] === 'error' || saysError(message['error']);
  return meterResult(usage.read(), generatedTextBytes(message['content']), !isError);
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}
