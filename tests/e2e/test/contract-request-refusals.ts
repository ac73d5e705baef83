import { CHAT, COUNT_TOKENS, LEAST_BODY, MESSAGES } from './contract-call.js';
import { makeCall } from './contract-situation.js';
import type { ErrorSituation } from './contract-situation.js';

const BODY_BYTES_MAX = 10_485_760;
const invalid = { type: 'invalid_request_error', messagesType: 'invalid_request_error' };
const notFound = { status: 404, type: 'invalid_request_error', messagesType: 'not_found_error' };

/** Refusals because of the request, or because of the model that it names. */
export const REQUEST_REFUSALS: readonly ErrorSituation[] = [
  {
    expected: { ...invalid, status: 400, code: 'invalid_request', param: 'model' },
    what: 'no model',
    arrange: async ({ rich }) => {
      const { messages } = LEAST_BODY[CHAT] as { messages: unknown };
      return (style) => ({ path: style === 'chat' ? CHAT : MESSAGES, secret: rich.secret, body: { messages } });
    },
  },
  {
    expected: { ...invalid, status: 400, code: 'model_not_available', param: 'model' },
    arrange: async (world) => {
      const { id } = await world.makeModel({ model: { available: false } });
      return makeCall(world.rich.secret, id);
    },
  },
  {
    expected: { ...invalid, status: 400, code: 'endpoint_not_supported_for_model', param: 'model' },
    arrange: async (world) => {
      const { id } = await world.makeModel({ source: { endpoints: ['/v1/responses'] } });
      return makeCall(world.rich.secret, id);
    },
  },
  {
    expected: { ...notFound, code: 'model_not_found', param: 'model' },
    what: 'unknown',
    arrange: async ({ rich }) => makeCall(rich.secret, 'nobody/nothing'),
  },
  {
    expected: { ...notFound, code: 'model_not_found', param: 'model' },
    what: 'inactive',
    arrange: async (world) => makeCall(world.rich.secret, (await world.makeModel({ model: { active: false } })).id),
  },
  {
    expected: { ...notFound, code: 'unsupported_endpoint', message: /\/v1\b/ },
    arrange:
      async ({ rich }) =>
      (style) => ({
        method: 'GET',
        path: style === 'chat' ? CHAT : COUNT_TOKENS,
        secret: rich.secret,
      }),
  },
  {
    expected: {
      status: 413,
      code: 'request_entity_too_large',
      type: 'invalid_request_error',
      messagesType: 'request_too_large',
      message: /10 MB/,
    },
    arrange:
      async ({ rich }) =>
      (style) => ({
        path: style === 'chat' ? CHAT : MESSAGES,
        secret: rich.secret,
        announcedBytes: BODY_BYTES_MAX + 1,
      }),
  },
  {
    expected: {
      status: 503,
      code: 'no_upstream_available',
      type: 'gateway_error',
      messagesType: 'overloaded_error',
    },
    arrange: async (world) => makeCall(world.rich.secret, (await world.makeModel({ source: { enabled: false } })).id),
  },
  {
    expected: {
      status: 503,
      code: 'model_not_priced',
      type: 'gateway_error',
      messagesType: 'api_error',
      noRetry: true,
    },
    arrange: async (world) => makeCall(world.rich.secret, (await world.makeModel({ model: { prices: null } })).id),
  },
];
