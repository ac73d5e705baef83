import { expect } from '@jest/globals';
import { Agent, request } from 'undici';
import { requestRaw, rawRequest } from './raw-http.js';

/** Endpoints of one protocol share the error format. */
export type Style = 'chat' | 'messages';

export interface ContractCall {
  readonly method?: string;
  readonly path: string;
  /** Sent as a Bearer token. Null: no key. */
  readonly secret: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. A string or buffer is sent unchanged. Absent: no body. */
  readonly body?: unknown;
  /**
   * Announces a body of this length and sends only its beginning, for a request that is refused for
   * its length.
   */
  readonly announcedBytes?: number;
}

export interface ContractAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly id: string;
  readonly text: string;
  /** True if the connection ended before the response did. */
  readonly cut: boolean;
}

/** Smallest valid body of every endpoint, without the model. */
export const LEAST_BODY: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'hello' }] },
  '/v1/completions': { prompt: 'hello' },
  '/v1/messages': { max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] },
  '/v1/messages/count_tokens': { messages: [{ role: 'user', content: 'hello' }] },
  '/v1/embeddings': { input: 'hello' },
  '/v1/responses': { input: 'hello' },
};
export const CHAT = '/v1/chat/completions';
export const MESSAGES = '/v1/messages';
export const COUNT_TOKENS = '/v1/messages/count_tokens';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const agent = new Agent({ connections: 64, pipelining: 1 });

/** Closes the connections of earlier requests. */
export function closeConnections(): Promise<void> {
  return agent.destroy();
}

export function styleOf(path: string): Style {
  return path === MESSAGES || path === COUNT_TOKENS ? 'messages' : 'chat';
}

/** Returns a model call with the smallest body of its endpoint and additional fields. */
export function modelCall(path: string, secret: string | null, model: string, fields: object = {}): ContractCall {
  return { path, secret, body: { model, ...LEAST_BODY[path], ...fields } };
}

/** Sends a request, reads the whole response, and checks the headers that each one must have. */
export async function send(url: string, call: ContractCall): Promise<ContractAnswer> {
  if (call.announcedBytes !== undefined) return announce(url, call, call.announcedBytes);
  const { method = call.body === undefined ? 'GET' : 'POST', path, secret, body } = call;
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const response = await request(`${url}${path}`, {
    method: method as 'GET',
    dispatcher: agent,
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  });
  let text = '';
  let cut = false;
  try {
    for await (const chunk of response.body) text += String(chunk);
  } catch {
    cut = true;
  }
  const headers = response.headers;
  expectOwnHeaders(headers, call.headers?.['x-request-id']);
  return { status: response.statusCode, headers, id: String(headers['x-gateway-request-id']), text, cut };
}

/** Sends the beginning of a body and reads the response. */
async function announce(url: string, { path, secret, headers }: ContractCall, bytes: number): Promise<ContractAnswer> {
  const own = {
    ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
    'content-type': 'application/json',
    ...headers,
    'content-length': String(bytes),
  };
  const answer = await requestRaw(url, `${rawRequest(`POST ${path}`, own)}{"model":`);
  expectOwnHeaders(answer.headers, headers?.['x-request-id']);
  const id = answer.headers['x-gateway-request-id'] ?? '';
  return { status: answer.status, headers: answer.headers, id, text: answer.body, cut: false };
}

export function jsonOf(answer: ContractAnswer): Record<string, unknown> {
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** Returns `200`, or status and code of an error. */
export function codeOf(answer: ContractAnswer): string {
  if (answer.status === 200) return '200';
  return `${answer.status} ${(jsonOf(answer)['error'] as { code: string }).code}`;
}

/**
 * Checks the IDs of the response, and that it has no CORS headers, no rate-limit headers except
 * Retry-After, and no header that names the software.
 */
function expectOwnHeaders(headers: ContractAnswer['headers'], clientsId: string | undefined): void {
  expect(headers['x-gateway-request-id']).toMatch(UUID_V7);
  expect(headers['x-request-id']).toBe(clientsId ?? headers['x-gateway-request-id']);
  const strange = Object.keys(headers).filter((name) => /^access-control-|ratelimit|^x-powered-by$|^etag$/.test(name));
  expect(strange).toEqual([]);
}

export interface ExpectedError {
  readonly status: number;
  readonly code: string;
  /** Type in the chat envelope. */
  readonly type: string;
  /** Type in the messages format. */
  readonly messagesType: string;
  /** Absent: no Retry-After header. */
  readonly retryAfter?: RegExp;
  /** True if the message ends with the billing link. */
  readonly billing?: true;
  /** True if `x-should-retry: false` is expected. */
  readonly noRetry?: true;
  readonly message?: RegExp;
  /** Absent: null. */
  readonly param?: string;
}

/** Checks a complete error response: status, envelope of the style, IDs and headers. */
export function expectError(answer: ContractAnswer, style: Style, expected: ExpectedError): void {
  const { status, code } = expected;
  const body = jsonOf(answer);
  if (style === 'chat') {
    const param = expected.param ?? null;
    const error = { message: expect.any(String), type: expected.type, code, param };
    const withId = code === 'unsupported_endpoint' ? error : { ...error, request_id: answer.id };
    expect([answer.status, body]).toEqual([status, { error: withId }]);
  } else {
    const details = { error_code: code };
    const error = { type: expected.messagesType, message: expect.any(String), code, details };
    expect([answer.status, body]).toEqual([status, { type: 'error', error, request_id: answer.id }]);
    expect(answer.headers['request-id']).toBe(answer.id);
  }
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  const { message } = body['error'] as { message: string };
  expect(message).toMatch(expected.message ?? /./);
  expect([code, /https?:\/\/\S+\/billing$/.test(message)]).toEqual([code, expected.billing === true]);
  const retryAfter = answer.headers['retry-after'];
  if (expected.retryAfter === undefined) expect([code, retryAfter]).toEqual([code, undefined]);
  else expect(retryAfter).toMatch(expected.retryAfter);
  expect(answer.headers['x-should-retry']).toBe(expected.noRetry === true ? 'false' : undefined);
}
