import type { ServerResponse } from 'node:http';
import { parsePace, writeAnswerText } from '../answers/answer-text.js';
import type { Answer, Endpoint, JsonObject, Problem, ProviderFormat } from '../answers/answer.js';
import { providerError } from '../answers/provider-error.js';
import { type ScriptUsage, type TokenCounts, isTokenCounts } from '../scripts/script.js';

/** Characters of a prompt per input token. */
const CHARACTERS_PER_TOKEN = 4;

/** One call after its body was read. */
export interface ModelCall {
  endpoint: Endpoint;
  /** Undefined if the body is not a JSON object. */
  body: JsonObject | undefined;
  /** Unique in this process. */
  id: string;
  response: ServerResponse;
}

/** Returns undefined if the bytes are not a JSON object. */
export function parseBody(bytes: Buffer): JsonObject | undefined {
  try {
    const fields: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? (fields as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the model of a body; undefined if it has none, and no script applies. */
export function modelOf(body: JsonObject | undefined): string | undefined {
  const model = body?.['model'];
  return typeof model === 'string' && model !== '' ? model : undefined;
}

/** Reports whether the request asks for a stream and the endpoint supports it. */
export function isStreamRequested({ endpoint, body }: ModelCall): boolean {
  return endpoint.events !== undefined && body?.['stream'] === true;
}

/** Sends a provider's response: the default for every call without a script. */
export function answerCall(call: ModelCall, chunkDelayMs: number): void {
  const { endpoint, body, id, response } = call;
  const answer = prepareAnswer(call);
  if ('message' in answer) return answerError(response, endpoint.format, 400, id, answer);
  if (endpoint.events === undefined || !isStreamRequested(call))
    return sendJson(response, endpoint.format, 200, id, JSON.stringify(endpoint.plain(answer)));
  response.writeHead(200, [...idHeader(endpoint.format, id), 'content-type', STREAM_TYPE, 'cache-control', 'no-cache']);
  const delayMs = parsePace(modelOf(body) ?? '') ?? chunkDelayMs;
  void writeEvents(response, endpoint.events(answer), delayMs).then(() => response.end());
}

/** Prepares the default response to a body, or the provider's error about it. */
export function prepareAnswer({ endpoint, body, id }: ModelCall, usage?: ScriptUsage): Answer | Problem {
  const model = modelOf(body);
  if (body === undefined) return { message: 'The body is not a JSON object.' };
  if (model === undefined) return { message: 'You must provide a model parameter.', param: 'model' };
  const request = endpoint.read(body);
  if ('message' in request) return request;
  const text = writeAnswerText(model, request);
  if (text === undefined) return { message: 'The size in the model name is above its bound.', param: 'model' };
  const counts = usage && isTokenCounts(usage) ? usage : undefined;
  const input = Math.max(1, Math.ceil(request.promptCharacters / CHARACTERS_PER_TOKEN));
  const tokens: TokenCounts = { input, cachedInput: 0, cacheWrite: 0, output: text.outputTokens, ...counts };
  // A script that sets only a part of the input must not make the whole smaller than its parts.
  tokens.input = Math.max(tokens.input, tokens.cachedInput + tokens.cacheWrite);
  const { choices = 1, toolName } = request;
  const createdSeconds = Math.floor(Date.now() / 1000);
  const own = counts === undefined ? usage : undefined;
  return { id, createdSeconds, model, pieces: text.pieces, choices, toolName, tokens, usage: own, body };
}

/** Sends an error in the provider's format. */
export function answerError(
  response: ServerResponse,
  format: ProviderFormat,
  status: number,
  id: string,
  detail?: Problem,
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

/**
 * Writes the events of a stream at intervals of `delayMs` and resolves when all are written or the
 * client has disconnected. Without a delay each event still gets its own tick; events of one tick
 * would be sent in one packet, as no provider does.
 */
export function writeEvents(response: ServerResponse, events: Iterator<string>, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const write = (): void => {
      const next = response.destroyed ? { done: true as const, value: undefined } : events.next();
      if (next.done === true) return resolve();
      if (response.write(next.value)) schedule();
      else response.once('drain', schedule);
    };
    const schedule = (): void => {
      if (delayMs === 0) setImmediate(write);
      else setTimeout(write, delayMs);
    };
    response.once('close', resolve);
    write();
  });
}
