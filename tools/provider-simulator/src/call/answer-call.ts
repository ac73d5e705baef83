import type { ServerResponse } from 'node:http';
import type { Endpoint, ProviderFormat } from '../answers/answer.js';
import { parsePace } from '../answers/answer-text.js';
import { providerError } from '../answers/provider-error.js';
import { isStreamRequested, prepareAnswer } from './parse-call.js';
import type { ParsedBody } from './parse-call.js';
import { writeEvents } from './write-events.js';

/** One call after its body was read. */
export interface ModelCall {
  endpoint: Endpoint;
  body: ParsedBody | undefined;
  /** Unique in this process. */
  id: string;
  response: ServerResponse;
}

export interface AnswerSettings {
  /** Words of a response unless something else sets its size. */
  words: number;
  /** Milliseconds between the events of a stream. */
  chunkDelayMs: number;
}

/** Sends a provider's response: the default for every call without a script. */
export function answerCall(call: ModelCall, settings: AnswerSettings, nowMs: number): void {
  const { endpoint, body, id, response } = call;
  const createdSeconds = Math.floor(nowMs / 1000);
  const answer = prepareAnswer(endpoint, body, { id, createdSeconds, words: settings.words, usage: undefined });
  if ('message' in answer) return answerError(response, endpoint.format, 400, id, answer);
  if (endpoint.events === undefined || !isStreamRequested(endpoint, body)) {
    return sendJson(response, endpoint.format, 200, id, endpoint.plain(answer));
  }
  response.writeHead(200, [...idHeader(endpoint.format, id), 'content-type', STREAM_TYPE, 'cache-control', 'no-cache']);
  const delayMs = parsePace(body?.model ?? '') ?? settings.chunkDelayMs;
  void writeEvents(response, endpoint.events(answer), delayMs).then(() => response.end());
}

/** Sends an error in the provider's format. */
export function answerError(
  response: ServerResponse,
  format: ProviderFormat,
  status: number,
  id: string,
  detail?: { message: string; param: string | null },
): void {
  sendJson(response, format, status, id, providerError(format, status, id, detail));
}

/** Content type of a streamed response. */
export const STREAM_TYPE = 'text/event-stream; charset=utf-8';

/** Returns name and value of the provider's request ID header. */
export function idHeader(format: ProviderFormat, id: string): [string, string] {
  return [format === 'anthropic' ? 'request-id' : 'x-request-id', `req_${id}`];
}

function sendJson(response: ServerResponse, format: ProviderFormat, status: number, id: string, text: string): void {
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, [...idHeader(format, id), 'content-type', 'application/json', 'content-length', length]);
  response.end(text);
}
