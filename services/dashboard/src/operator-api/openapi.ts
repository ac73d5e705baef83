import { MODEL_NAME_PATTERN, PUBLISHER_PATTERN } from '@gateway/contracts/messages';
import { OPERATOR_ERRORS, type OperatorErrorCode } from '@gateway/contracts/operator';
import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiContentObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverrideContext,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiResponseObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { ROLES_BY_ACCESS } from './access.js';
import { IDEMPOTENCY_KEY_PATTERN } from '../http/idempotency.js';
import { buildLinks, type Link } from './openapi-links.js';
import { NAMED_SCHEMAS, operatorError, SCHEMA_TEXTS } from './openapi-words.js';
import { isIdempotent, type OperatorRoute } from './route.js';

export const OPERATOR_PREFIX = '/operator/v1';
const VERSION = '1.0.0';

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
export function buildOpenApi(routes: readonly OperatorRoute[]): oas31.OpenAPIObject {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  const responses = new Map<string, ZodOpenApiResponseObject>();
  for (const route of routes) {
    const method = route.method.toLowerCase() as 'get';
    (paths[route.path] ??= {})[method] = operationOf(route, routes, responses);
  }
  return withoutUnused(
    createDocument(
      {
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
          schemas: NAMED_SCHEMAS,
          parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
          securitySchemes: { operatorToken: { type: 'http', scheme: 'bearer' } },
        },
      },
      { override: addTexts },
    ),
  );
}

/** Removes schemas that no operation uses. The library adds every named schema. */
function withoutUnused(document: oas31.OpenAPIObject): oas31.OpenAPIObject {
  const schemas = document.components?.schemas ?? {};
  const used = JSON.stringify(document);
  const unused = Object.keys(schemas).filter((name) => !used.includes(`"#/components/schemas/${name}"`));
  for (const name of unused) delete schemas[name];
  return unused.length === 0 ? document : withoutUnused(document);
}

/** Adds descriptions and examples, and forbids unknown fields in requests as in responses. */
function addTexts({ zodSchema, jsonSchema }: ZodOpenApiOverrideContext): void {
  Object.assign(jsonSchema, SCHEMA_TEXTS.get(zodSchema));
  if (zodSchema instanceof z.ZodObject) jsonSchema.additionalProperties ??= false;
}

function operationOf(
  route: OperatorRoute,
  routes: readonly OperatorRoute[],
  responses: Map<string, ZodOpenApiResponseObject>,
): ZodOpenApiOperationObject {
  return {
    operationId: route.id,
    summary: route.summary,
    description: `Roles: ${ROLES_BY_ACCESS[route.access].join(', ')}.`,
    requestParams: { path: pathParameters(route), query: route.query },
    ...(isIdempotent(route) ? { parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }] } : {}),
    ...(route.body === null ? {} : { requestBody: { required: true, content: contentOf(route, route.body) } }),
    responses: { ...successes(route, buildLinks(route, routes)), ...errors(route, responses) },
  };
}

const IDEMPOTENCY_KEY: oas31.ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'For 24 hours, the same key and request return the stored response, with secrets as null.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
};

function contentOf(route: OperatorRoute, schema: z.ZodType): ZodOpenApiContentObject {
  const json = { 'application/json': { schema } };
  return route.bodyForm === 'document' ? { ...json, 'application/yaml': { schema } } : json;
}

/** The path has `{publisher}/{model}`; the route reads both as `modelId`. */
const HALVES_OF_MODEL_ID: Readonly<Record<string, z.ZodType>> = {
  publisher: z.string().regex(new RegExp(PUBLISHER_PATTERN)),
  model: z.string().regex(new RegExp(MODEL_NAME_PATTERN)),
};
SCHEMA_TEXTS.add(HALVES_OF_MODEL_ID['publisher'] as z.ZodType, { examples: ['acme'] });
SCHEMA_TEXTS.add(HALVES_OF_MODEL_ID['model'] as z.ZodType, { examples: ['large-1'] });

function pathParameters({ path, params }: OperatorRoute): z.ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return z.object(
    Object.fromEntries(names.map((name) => [name, params.shape[name] ?? HALVES_OF_MODEL_ID[name]])) as z.ZodRawShape,
  );
}

function successes(route: OperatorRoute, links: Record<string, Link>): ZodOpenApiResponsesObject {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, schema]) => {
      const description = status === '201' ? 'Created' : status === '204' ? 'No content' : 'Success';
      if (!schema) return [status, { description }];
      const types = route.answerTypes ?? ['application/json'];
      const content = Object.fromEntries(types.map((type) => [type, { schema }]));
      return [status, { description, content, ...(Object.keys(links).length === 0 ? {} : { links }) }];
    }),
  );
}

/** Returns one response per status. Routes with the same codes share a component. */
function errors(route: OperatorRoute, responses: Map<string, ZodOpenApiResponseObject>): ZodOpenApiResponsesObject {
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
      const schema = errorSchema(route, names);
      const content = { 'application/json': { schema } };
      if (schema !== operatorError) return [status, { description: names.join(', '), content }];
      const id = names.join('-');
      const known = responses.get(id) ?? { id, description: names.join(', '), content };
      responses.set(id, known);
      return [status, known];
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
