import { isRefusal, refuse } from '@gateway/contracts/operator';
import type { Express, NextFunction, Request, Response } from 'express';
import { originOf } from '../http/origin-of.js';
import { refusalOfFault } from '../http/refusal-of-fault.js';
import { sendAnswer } from '../http/send-answer.js';
import { expressPath, isUnreadablePath, makeStrictApp } from '../http/strict-app.js';
import type { Door } from '../ports.js';
import { whoAsks } from './authenticate.js';
import { OPERATOR_PREFIX, openApiDocument } from './openapi.js';
import { makeOperatorMetrics } from './operator-metrics.js';
import type { Handled, OperatorRoute } from './route.js';
import { noteRefusedToken, sendHandled, serveRoute } from '../http/serve-route.js';

/** The operator API as an Express application: every row of the table, the document, and 404 for all else. */
export function makeOperatorApp(door: Door, routes: readonly OperatorRoute[]): Express {
  const metrics = makeOperatorMetrics(routes.map(({ id }) => id));
  const document = openApiDocument(routes);
  const app = makeStrictApp(door.clock);
  app.get(`${OPERATOR_PREFIX}/openapi.json`, (request, response) => sendAnswer(request, response, 200, document));
  for (const route of routes) {
    const method = route.method.toLowerCase() as 'get' | 'put' | 'post' | 'delete';
    app[method](operatorPath(route.path), (request, response) => serveRoute(door, metrics, route, request, response));
  }
  app.use(async (request: Request, response: Response) => {
    sendHandled(request, response, await answerUnknown(door, request, response), metrics);
  });
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const handled = isUnreadablePath(error)
      ? refuse('invalid_request', 'the path cannot be decoded')
      : refusalOfFault(door.log, error, response.locals['requestId'] as string);
    sendHandled(request, response, handled, metrics);
  });
  return app;
}

/** Below the prefix nothing is told to those without a token, not even what there is. */
async function answerUnknown(door: Door, request: Request, response: Response): Promise<Handled> {
  const unknown = refuse('not_found', `there is no such path and method; see ${OPERATOR_PREFIX}/openapi.json`);
  if (!request.path.startsWith(`${OPERATOR_PREFIX}/`)) return unknown;
  try {
    const operator = await whoAsks(door, request, response);
    if (!isRefusal(operator)) return unknown;
    noteRefusedToken(door, request, originOf(request, response));
    return operator;
  } catch (err) {
    return refusalOfFault(door.log, err, response.locals['requestId'] as string);
  }
}

/** The id of a model is everything that follows, slashes included. */
function operatorPath(path: string): string {
  return OPERATOR_PREFIX + expressPath(path.replace('{publisher}/{model}', '*modelId'));
}
