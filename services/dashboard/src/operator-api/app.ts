import type { CommandAuthor } from '@gateway/contracts/messages';
import { canonicalJson } from '../http/idempotency.js';
import { OPERATOR_ERRORS, refuse, type OperatorErrorCode } from '@gateway/contracts/operator';
import { counter } from '@gateway/service-kit';
import type { Express, Request, Response } from 'express';
import { UNAUTHENTICATED, UNKNOWN } from '../access-log.js';
import { REQUEST_MS_MAX } from '../http/listener.js';
import type { BodyBounds } from '../http/read-body.js';
import { isRouteRefusal, toRefusal, refuseForNow, type Refusal } from '../http/refusals.js';
import { readOrigin } from '../http/request-place.js';
import { sendResponse } from '../http/send-answer.js';
import { addFallbacks, addRoutes, type Api } from '../http/serve-route.js';
import { createStrictApp } from '../http/strict-app.js';
import { formatActor, createPermissionCheck, ROLES_BY_ACCESS, type PermissionCheck, type Operator } from './access.js';
import { identifyOperator } from './authenticate.js';
import { OPERATOR_PREFIX, buildOpenApi } from './openapi.js';
import { isIdempotent, type Context, type OperatorRoute } from './route.js';
import { runOnce } from './run-once.js';

/** Largest body, in bytes. The bus accepts 1,000,000 bytes per message. */
export const BODY_BYTES_MAX = 1024 * 1024;
const BODY_BOUNDS: BodyBounds = { bytesMax: BODY_BYTES_MAX, msMax: REQUEST_MS_MAX };

interface Caller {
  readonly operator: Operator;
  readonly author: CommandAuthor;
  readonly may: PermissionCheck;
}

/** Creates the Express application of the operator API, with the OpenAPI document and 404. */
export function createOperatorApp(context: Context, routes: readonly OperatorRoute[]): Express {
  const document = buildOpenApi(routes);
  const app = createStrictApp(context.clock);
  app.get(`${OPERATOR_PREFIX}/openapi.json`, (request, response) => sendResponse(request, response, 200, document));
  const api = operatorApi(context);
  // A model ID and an alias are the whole rest of the path, including slashes.
  const pattern = (path: string): string =>
    path.replace('{publisher}/{model}', '*modelId').replace('{alias}', '*alias');
  addRoutes(app, api, routes, ({ path }) => OPERATOR_PREFIX + pattern(path));
  addFallbacks(app, api, (request, response) => answerUnknown(context, request, response));
  return app;
}

function operatorApi(context: Context): Api<OperatorRoute, Caller> {
  const { access, log } = context;
  const refusals = counter('gateway_operator_refusals_total', 'Refused requests of the operator API', {
    code: Object.keys(OPERATOR_ERRORS) as OperatorErrorCode[],
  });
  return {
    name: 'operator',
    metricPrefix: 'gateway_operator',
    title: 'the operator API',
    log,
    access,
    busy: refuseForNow,
    async identify(_route, request, response) {
      const operator = await identify(context, request, response);
      if (isRouteRefusal(operator)) return operator;
      const origin = readOrigin(request, response);
      return { operator, author: { actor: formatActor(operator), origin }, may: createPermissionCheck(operator) };
    },
    authorize(route, { operator, author }) {
      const roles = ROLES_BY_ACCESS[route.access];
      if (roles.includes(operator.role)) return null;
      access.refused({ action: 'access_refused', ...author, objectId: route.id });
      return refuse(
        'operator_forbidden',
        `the operation needs the role ${roles.join(' or ')}, but this operator has the role ${operator.role}`,
      );
    },
    bodyBoundsOf: () => BODY_BOUNDS,
    run(route, { operator, ...caller }, input, request) {
      const once = {
        operator,
        idempotencyKey: isIdempotent(route) ? request.get('idempotency-key') : undefined,
        content: () => canonicalJson([route.method, request.originalUrl, input.body ?? null]),
      };
      return runOnce(context, once, (command) => route.handle({ ...context, ...caller, ...input, command }));
    },
    factsOf: (caller, request, { replayed = false }) => ({
      operator: caller?.operator.name ?? null,
      path: request.path,
      replayed,
    }),
    refused(code, status, response) {
      // Routes and services of this API refuse only with its own codes.
      refusals.of({ code: code as OperatorErrorCode }).add();
      if (status === 401) response.setHeader('www-authenticate', 'Bearer');
    },
  };
}

/** Identifies the operator. An invalid token counts as an attempt, a missing one does not. */
async function identify(context: Context, request: Request, response: Response): Promise<Operator | Refusal> {
  const operator = await identifyOperator(context, request, response);
  if (isRouteRefusal(operator) && request.headers.authorization !== undefined) {
    const origin = readOrigin(request, response);
    context.access.refused({ action: 'operator_token_refused', actor: UNAUTHENTICATED, objectId: UNKNOWN, origin });
  }
  return operator;
}

/**
 * Refuses an unknown path. Below the prefix, clients without a token get 401, so that they cannot
 * find out which paths exist.
 */
async function answerUnknown(context: Context, request: Request, response: Response): Promise<Refusal> {
  const unknown = refuse('not_found', `there is no such path and method; see ${OPERATOR_PREFIX}/openapi.json`);
  if (!request.path.startsWith(`${OPERATOR_PREFIX}/`)) return unknown;
  try {
    const operator = await identify(context, request, response);
    return isRouteRefusal(operator) ? operator : unknown;
  } catch (err) {
    return toRefusal(context.log, err, response.locals['requestId'] as string);
  }
}
