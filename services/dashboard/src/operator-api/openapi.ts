import { MODEL_NAME_PATTERN, PUBLISHER_PATTERN } from '@gateway/contracts/messages';
import { OPERATOR_ERRORS, type OperatorErrorCode } from '@gateway/contracts/operator';
import { z } from 'zod';
import { ROLES_BY_ACCESS } from './access.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../http/idempotency.js';
import { buildLinks } from './openapi-links.js';
import { operatorError, SCHEMA_TEXTS } from './openapi-words.js';
import { isIdempotent, type OperatorRoute } from './route.js';

export const OPERATOR_PREFIX = '/operator/v1';
const VERSION = '1.0.0';
const COMPONENTS = '#/components/schemas/';

type Json = { [key: string]: unknown };

/** Codes that every route may respond with. */
const EVERYWHERE: readonly OperatorErrorCode[] = [
  'invalid_request',
  'invalid_operator_token',
  'too_many_attempts',
  'operator_forbidden',
  'not_found',
  'dependency_unavailable',
];

/** Builds the OpenAPI 3.1 document from the schemas that validate requests. */
export function buildOpenApi(routes: readonly OperatorRoute[]): Json {
  const components: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = (paths[route.path] ??= {});
    path[route.method.toLowerCase()] = operationOf(route, components, routes);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Model gateway: operator API',
      version: VERSION,
      description: 'Money is a decimal string in USD, times are RFC 3339 UTC, lists continue with `cursor`.',
    },
    servers: [{ url: OPERATOR_PREFIX }],
    security: [{ operatorToken: [] }],
    paths,
    components: {
      securitySchemes: { operatorToken: { type: 'http', scheme: 'bearer' } },
      schemas: components,
    },
  };
}

function operationOf(route: OperatorRoute, components: Json, routes: readonly OperatorRoute[]): Json {
  return {
    operationId: route.id,
    summary: route.summary,
    description: `Roles: ${ROLES_BY_ACCESS[route.access].join(', ')}.`,
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route),
      ...(isIdempotent(route) ? [IDEMPOTENCY_KEY] : []),
    ],
    ...(route.body === null
      ? {}
      : { requestBody: { required: true, content: contentOf(route, schemaOf(route.body, 'input', components)) } }),
    responses: { ...successes(route, components, buildLinks(route, routes)), ...errors(route, components) },
  };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'For 24 hours, the same key and request return the stored response, with secrets as null.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
};

function contentOf(route: OperatorRoute, schema: Json): Json {
  const json = { 'application/json': { schema } };
  return route.bodyForm === 'document' ? { ...json, 'application/yaml': { schema } } : json;
}

/** The path has `{publisher}/{model}`; the route reads both as `modelId`. */
const HALVES_OF_MODEL_ID: Readonly<Record<string, Json>> = {
  publisher: { type: 'string', pattern: PUBLISHER_PATTERN, examples: ['acme'] },
  model: { type: 'string', pattern: MODEL_NAME_PATTERN, examples: ['large-1'] },
};

function pathParameters(route: OperatorRoute): Json[] {
  return [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = route.params.shape[name] as z.ZodType | undefined;
    // The two halves of a model ID are one parameter of the route.
    return {
      name,
      in: 'path',
      required: true,
      schema: schema ? plainSchema(schema) : HALVES_OF_MODEL_ID[name],
    };
  });
}

function queryParameters(route: OperatorRoute): Json[] {
  return Object.entries(route.query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !(schema as z.ZodType).safeParse(undefined).success,
    schema: plainSchema(schema as z.ZodType),
  }));
}

function successes(route: OperatorRoute, components: Json, links: Json): Json {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => {
      const description = status === '201' ? 'Created' : status === '204' ? 'No content' : 'Success';
      if (!schema) return [status, { description }];
      const content = { schema: schemaOf(schema, 'output', components) };
      const forms = Object.fromEntries((route.answerTypes ?? ['application/json']).map((type) => [type, content]));
      return [status, { description, content: forms, ...(Object.keys(links).length === 0 ? {} : { links }) }];
    }),
  );
}

function errors(route: OperatorRoute, components: Json): Json {
  const codes = [
    ...EVERYWHERE,
    ...(route.refusals ?? []),
    ...(isIdempotent(route) ? (['idempotency_conflict'] as const) : []),
  ];
  const byStatus = new Map<number, OperatorErrorCode[]>();
  for (const code of new Set(codes)) {
    const status = OPERATOR_ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => {
      const schema = schemaOf(errorSchema(route, names), 'output', components);
      return [status, { description: names.join(', '), content: { 'application/json': { schema } } }];
    }),
  );
}

/**
 * Builds the schema of an error status. Several codes may share a status, so fields that only some
 * of them add next to `error` are optional.
 */
function errorSchema({ refusedWith = {} }: OperatorRoute, codes: readonly OperatorErrorCode[]): z.ZodObject {
  const beside = codes.flatMap((code) => refusedWith[code] ?? []);
  return beside.reduce((schema, fields) => schema.extend(fields.partial().shape), operatorError as z.ZodObject);
}

/** Builds an inline schema, for parameters. */
function plainSchema(schema: z.ZodType): Json {
  const {
    $schema: _dialect,
    default: _default,
    ...rest
  } = z.toJSONSchema(schema, { io: 'output', metadata: SCHEMA_TEXTS }) as Json;
  return rest;
}

/**
 * Builds a schema and moves named schemas to the components. Requests and responses differ in
 * defaults and unknown fields, so the names of request schemas end with `Input`.
 */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const suffix = io === 'input' ? 'Input' : '';
  const made = z.toJSONSchema(schema, { io, metadata: SCHEMA_TEXTS, reused: 'inline' }) as Json;
  const { $schema: _dialect, $defs: definitions, ...rest } = made;
  for (const [name, definition] of Object.entries((definitions ?? {}) as Json)) {
    components[name + suffix] = rewritten(definition, suffix) as Json;
  }
  // For a named schema, this is already only a reference to its definition.
  return rewritten(rest, suffix) as Json;
}

/** Points references to the components, and forbids unknown fields in requests. */
function rewritten(value: unknown, suffix: string): unknown {
  if (Array.isArray(value)) return value.map((entry) => rewritten(entry, suffix));
  if (typeof value !== 'object' || value === null) return value;
  const { id: _id, ...object } = value as Json;
  const out: Json = {};
  for (const [key, member] of Object.entries(typeof (value as Json)['id'] === 'string' ? object : value)) {
    const isReference = key === '$ref' && typeof member === 'string';
    out[key] = isReference ? `${COMPONENTS}${member.replace('#/$defs/', '')}${suffix}` : rewritten(member, suffix);
  }
  if (out['type'] === 'object' && 'properties' in out && !('additionalProperties' in out)) {
    out['additionalProperties'] = false;
  }
  return out;
}
