import type { ScriptStep } from '@gateway/provider-simulator';
import { makeCall } from './contract-situation.js';
import type { ErrorSituation } from './contract-situation.js';
import type { ExpectedError } from './contract-call.js';
import type { ModelOptions } from './contract-world.js';

const invalid = {
  status: 400,
  code: 'invalid_request',
  type: 'invalid_request_error',
  messagesType: 'invalid_request_error',
};
const credentials = { code: 'upstream_auth_error', type: 'gateway_error', messagesType: 'api_error' };
const limited = {
  status: 429,
  code: 'rate_limit_exceeded',
  type: 'rate_limit_error',
  messagesType: 'rate_limit_error',
};
const failed = { code: 'upstream_error', type: 'api_error', messagesType: 'api_error' };
const overloaded = { ...failed, messagesType: 'overloaded_error' };
const late = { status: 504, code: 'upstream_timeout', type: 'api_error', messagesType: 'timeout_error' };
const tooLarge = {
  status: 413,
  code: 'request_entity_too_large',
  type: 'invalid_request_error',
  messagesType: 'request_too_large',
};
const unknown = {
  status: 404,
  code: 'model_not_found',
  type: 'invalid_request_error',
  messagesType: 'not_found_error',
  param: 'model',
};

/** Expected errors (specification, Errors) for the responses of a model's only source. */
export const UPSTREAM_ERRORS: readonly ErrorSituation[] = [
  ...[400, 422, 409].map((status) => answered(status, invalid)),
  answered(401, { ...credentials, status: 401 }),
  answered(402, { ...credentials, status: 403 }),
  answered(403, { ...credentials, status: 403 }),
  answered(404, unknown),
  ...[408, 425].map((status) => answered(status, late)),
  answered(413, tooLarge),
  answered(429, { ...limited, retryAfter: /^17$/ }, { 'retry-after': '17' }),
  answered(429, limited),
  ...[500, 501, 502].map((status) => answered(status, { ...failed, status })),
  ...[503, 529].map((status) => answered(status, { ...overloaded, status })),
  answered(504, { ...failed, status: 504 }),
  answered(302, { ...failed, status: 502 }, { location: 'http://127.0.0.1:9/elsewhere' }),
  situation('a plain body that is not JSON', [{ status: 200, headers: { 'content-type': 'text/html' } }], {
    ...failed,
    status: 502,
  }),
  situation('the connection broke after the request was sent', [{ end: 'reset' }], late),
  situation('no response in time', [{ end: 'stall' }], late, { source: { limits: { headersTimeoutMs: 300 } } }),
  {
    expected: { status: 502, code: 'upstream_unreachable', type: 'api_error', messagesType: 'api_error' },
    what: 'connection refused',
    arrange: async (world) => {
      const baseUrls = ['http://127.0.0.1:1'];
      return makeCall(world.rich.secret, (await world.makeModel({ baseUrls })).id);
    },
  },
];

function answered(status: number, expected: ExpectedError, headers: Record<string, string> = {}): ErrorSituation {
  return situation(`the provider responds with ${status} ${JSON.stringify(headers)}`, [{ status, headers }], expected);
}

function situation(
  what: string,
  steps: readonly ScriptStep[],
  expected: ExpectedError,
  options: ModelOptions = {},
): ErrorSituation {
  return {
    expected,
    what,
    arrange: async (world) => makeCall(world.rich.secret, (await world.scripted(steps, options)).id),
  };
}
