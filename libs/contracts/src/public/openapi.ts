import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../errors/index.js';
import { ENDPOINTS, type Endpoint } from '../messages/scalars.js';
import { CALLS, LISTS, SCHEMAS, type List, type Operation, type SchemaName } from './openapi-tables.js';

/** Version of the public API's description (specification, Versioning). */
export const OPENAPI_VERSION = '1.0.0';

type Json = Record<string, unknown>;
type ErrorSchema = Operation['error'];

/** The code with a provider's status. The document lists it once, at 5XX. */
const UPSTREAM_ERROR = 'upstream_error';
/** Statuses of invalid HTTP requests, which belong to no operation. */
const PARSER_STATUSES: ReadonlySet<number> = new Set([408, 431]);

/** Generates the OpenAPI 3.1 document from the schemas and the error catalogue. */
export function openApiDocument(): Json {
  const schemas = Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, schemaOf(schema)]));
  const calls = ENDPOINTS.map((path) => [path, { post: callOperation(path, CALLS[path]) }]);
  const lists = Object.entries(LISTS).map(([path, list]) => [path, { get: listOperation(list) }]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Model Gateway API',
      version: OPENAPI_VERSION,
      description:
        'One API key for many hosted language models. Chat-style clients use the base URL ending in /v1, messages-style ' +
        'clients the same host without it. Bodies of model calls have the format of their provider.',
    },
    servers: [{ url: '{baseUrl}', variables: { baseUrl: { default: 'http://127.0.0.1:8080' } } }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: Object.fromEntries([...calls, ...lists]) as Json,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Wins when both headers are sent.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      headers: HEADERS,
      schemas,
    },
  };
}

const HEADERS: Json = {
  GatewayRequestId: {
    description: "The gateway's ID of the request, on every response.",
    schema: { type: 'string', format: 'uuid' },
  },
  RequestId: {
    description: "The client's x-request-id if it sent one, else the gateway's ID.",
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds; on 429 only, and for rate_limit_exceeded only if the provider sent it.',
    schema: { type: 'integer', minimum: 1 },
  },
  ShouldRetry: {
    description:
      'false if a client library must not retry by itself: window_exhausted, model_limit_reached, model_not_priced.',
    schema: { type: 'string', const: 'false' },
  },
};

function callOperation(path: Endpoint, { summary, request, answer, streams, error }: Operation): Json {
  const plain = { 'application/json': { schema: answer === null ? { type: 'object' } : ref(answer) } };
  const stream = { 'text/event-stream': { schema: { type: 'string' } } };
  return {
    operationId: operationId(path),
    summary,
    requestBody: { required: true, content: { 'application/json': { schema: ref(request) } } },
    responses: {
      200: {
        description: answer === null ? "An object of the provider's format" : 'The response',
        headers: idHeaders(error),
        content: streams ? { ...plain, ...stream } : plain,
      },
      ...errorResponses(error, callCodes(error)),
    },
  };
}

function listOperation({ summary, answer, codes }: List): Json {
  const ok = {
    description: 'The response',
    headers: idHeaders('ChatError'),
    content: { 'application/json': { schema: ref(answer) } },
  };
  return {
    operationId: `get${answer}`,
    summary,
    ...(codes === null ? { security: [] } : {}),
    responses: { 200: ok, ...(codes === null ? {} : errorResponses('ChatError', codes)) },
  };
}

/** Returns the error codes of a model endpoint. */
function callCodes(error: ErrorSchema): ErrorCode[] {
  const all = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
  return all.filter(
    (code) =>
      code !== 'usage_unavailable' &&
      code !== 'unsupported_endpoint' &&
      (code !== 'anthropic_protocol_disabled' || error === 'MessagesError'),
  );
}

/** Creates one response per status, with its codes. */
function errorResponses(schema: ErrorSchema, codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<string, string[]>();
  for (const code of codes) {
    const statuses: readonly number[] = ERROR_CATALOGUE[code].statuses;
    const all =
      code === UPSTREAM_ERROR ? ['5XX'] : statuses.filter((status) => !PARSER_STATUSES.has(status)).map(String);
    for (const status of all) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses = [...byStatus]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([status, names]) => {
      const limits = status === '429' ? { 'Retry-After': headerRef('RetryAfter') } : {};
      const retries = status === '429' || status === '503' ? { 'x-should-retry': headerRef('ShouldRetry') } : {};
      const headers = { ...idHeaders(schema), ...limits, ...retries };
      return [
        status,
        { description: names.join(', '), headers, content: { 'application/json': { schema: ref(schema) } } },
      ];
    });
  return Object.fromEntries(responses) as Json;
}

/** Returns the ID headers. Messages clients read the gateway's ID under a third name. */
function idHeaders(error: ErrorSchema): Json {
  const own = headerRef('GatewayRequestId');
  const ids = { 'x-gateway-request-id': own, 'x-request-id': headerRef('RequestId') };
  return error === 'MessagesError' ? { ...ids, 'request-id': own } : ids;
}

/** Returns an operation ID: `createMessagesCountTokens` for `/v1/messages/count_tokens`. */
function operationId(path: Endpoint): string {
  const words = path.slice('/v1/'.length).split(/[/_]/);
  return `create${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}

function ref(name: SchemaName): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function headerRef(name: string): Json {
  return { $ref: `#/components/headers/${name}` };
}
