import type { Express, NextFunction, Request, Response } from 'express';
import { busy, refusePage } from './refusals.js';
import { CSP_REPORT_PATH, setCommonHeaders } from './page-headers.js';
import { refusalOfFault } from '../http/refusal-of-fault.js';
import { placeOf } from '../http/request-place.js';
import { expressPath, isUnreadablePath, makeStrictApp } from '../http/strict-app.js';
import { sendWebFile } from './send-web-file.js';
import { OPERATOR_PREFIX } from '../operator-api/openapi.js';
import type { PagesDoor, WebFiles } from '../page-ports.js';
import { authorizeOperator } from './sign-in/authorize-operator.js';
import { makePageMetrics } from './page-metrics.js';
import type { PageRoute } from './route.js';
import { contextOf, sendPage, servePage } from './serve-page.js';
import { takePolicyReport } from './policy-report.js';

export const PAGES_PREFIX = '/api';

export interface PagesParts {
  readonly door: PagesDoor;
  readonly routes: readonly PageRoute[];
  readonly web: WebFiles;
  /** The operator API, which is also served below the pages to operators who are signed in. */
  readonly operatorApp: Express;
}

/** The pages' listener as an Express application: the API's table, the operator API by a cookie, and the built pages. */
export function makePagesApp({ door, routes, web, operatorApp }: PagesParts): Express {
  const metrics = makePageMetrics(routes.map(({ id }) => id));
  const app = makeStrictApp(door.clock);
  app.use((_request: Request, response: Response, next: NextFunction) => {
    setCommonHeaders(response, door.settings.secure);
    next();
  });
  app.post(CSP_REPORT_PATH, (request, response) => takePolicyReport(door, metrics, request, response));
  const { operatorsEnabled } = door.settings.config;
  for (const route of routes) {
    if (!operatorsEnabled && route.path.startsWith('/operator/')) continue;
    const method = route.method.toLowerCase() as 'get' | 'put' | 'post' | 'delete';
    app[method](PAGES_PREFIX + expressPath(route.path), (request, response) =>
      servePage(door, metrics, route, request, response),
    );
  }
  if (operatorsEnabled) serveOperators(app, door, operatorApp);
  app.use(async (request: Request, response: Response) => {
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    const isApi = request.path === PAGES_PREFIX || request.path.startsWith(`${PAGES_PREFIX}/`);
    if (isPage && !isApi) return sendWebFile(web, request.path, request, response);
    const unknown = refusePage('not_found', 'there is no such path and method');
    await sendPage(contextOf(door, request, response), request, response, unknown);
  });
  // Express knows an error handler by its four parameters.
  app.use(async (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const context = contextOf(door, request, response);
    const refusal = isUnreadablePath(error)
      ? refusePage('invalid_request', 'the path cannot be decoded')
      : refusalOfFault(door.log, error, context.requestId);
    await sendPage(context, request, response, refusal);
  });
  return app;
}

/** The operator API below the pages, for operators who are signed in there. */
function serveOperators(app: Express, door: PagesDoor, operatorApp: Express): void {
  app.use(`${PAGES_PREFIX}${OPERATOR_PREFIX}`, async (request: Request, response: Response) => {
    const context = contextOf(door, request, response);
    const taken = await placeOf(request).take();
    if (taken === 'gone') return;
    const refusal = taken ? await authorizeOperator(context, request, response) : busy();
    if (refusal !== null) return void (await sendPage(context, request, response, refusal));
    // Below the mount the path is without its prefix; the operator API knows it with its own.
    request.url = `${OPERATOR_PREFIX}${request.url}`;
    operatorApp(request, response);
  });
}
