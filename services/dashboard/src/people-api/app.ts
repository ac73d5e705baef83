import type { Express, NextFunction, Request, Response } from 'express';
import { IDEMPOTENCY_KEY } from '../http/idempotency.js';
import { REQUEST_MS_MAX } from '../http/listener.js';
import { isRouteRefusal } from '../http/refusals.js';
import { readOrigin, findPlace } from '../http/request-place.js';
import { type Api, addFallbacks, addRoutes, sendHandled } from '../http/serve-route.js';
import { createStrictApp } from '../http/strict-app.js';
import { setSignedIn } from '../operator-api/authenticate.js';
import { OPERATOR_PREFIX } from '../operator-api/openapi.js';
import { createPolicyReports } from './policy-report.js';
import { type PageRequest, type PageRoute, type PagesContext, busy, refusePage } from './route.js';
import { cookieName, cookieOf } from './sign-in/cookies.js';
import { type CallerIdentity, findOperator, identify, refuseNoOperator } from './sign-in/identify.js';
import { CSP_REPORT_PATH, type WebFiles, sendWebFile, setCommonHeaders } from './web-files.js';

export const PAGES_PREFIX = '/api';

/** Bounds of bodies: small and fast for unauthenticated clients, larger for signed-in people. */
const OPEN_BODY = { bytesMax: 4 * 1024, msMax: 5_000 };
const SIGNED_IN_BODY = { bytesMax: 64 * 1024, msMax: REQUEST_MS_MAX };

export interface PagesParts {
  readonly context: PagesContext;
  readonly routes: readonly PageRoute[];
  readonly web: WebFiles;
  /** The operator API, which the pages' listener also serves to signed-in operators. */
  readonly operatorApp: Express;
}

/**
 * Creates the pages' listener as an Express application: the pages' API, the operator API with a
 * cookie, and the built pages.
 */
export function createPagesApp({ context, routes, web, operatorApp }: PagesParts): Express {
  const { settings } = context;
  const app = createStrictApp(context.clock);
  app.use((_request: Request, response: Response, next: NextFunction) => {
    setCommonHeaders(response, settings.secure);
    next();
  });
  app.post(CSP_REPORT_PATH, createPolicyReports(context));
  const { operatorsEnabled } = settings.config;
  const api = pagesApi(context);
  addRoutes(app, api, routes, ({ path }) =>
    operatorsEnabled || !path.startsWith('/operator/') ? PAGES_PREFIX + path : null,
  );
  if (operatorsEnabled) serveOperators(app, api, context, operatorApp);
  addFallbacks(app, api, (request, response) => {
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    const isApi = request.path === PAGES_PREFIX || request.path.startsWith(`${PAGES_PREFIX}/`);
    if (!isPage || isApi) return refusePage('not_found', 'there is no such path and method');
    sendWebFile(web, request.path, request, response);
    return 'sent';
  });
  return app;
}

type Caller = PageRequest & Partial<CallerIdentity>;

function pagesApi(context: PagesContext): Api<PageRoute, Caller> {
  return {
    name: 'page',
    metricPrefix: 'gateway_dashboard',
    title: "the pages' API",
    log: context.log,
    access: context.access,
    busy,
    async identify(route, request, response) {
      const asked = pageRequest(context, request, response);
      const who = await identify(asked, route, request);
      return isRouteRefusal(who) ? who : { ...asked, ...who };
    },
    bodyBoundsOf({ access, bodyBytesMax }) {
      const bounds = access === 'anyone' ? OPEN_BODY : SIGNED_IN_BODY;
      return bodyBytesMax === undefined ? bounds : { ...bounds, bytesMax: bodyBytesMax };
    },
    run: (route, caller, input) => route.handle({ ...caller, ...input }),
    factsOf: (caller) => ({ user: caller?.session?.user.id ?? null, account: caller?.account?.id ?? null }),
  };
}

function pageRequest(context: PagesContext, request: Request, response: Response): PageRequest {
  const { cookie } = request.headers;
  const { secure } = context.settings;
  const origin = readOrigin(request, response);
  return {
    ...context,
    requestId: origin.requestId,
    idempotencyKey: request.get(IDEMPOTENCY_KEY),
    client: origin.client,
    origin,
    cookies: {
      session: cookieOf(cookie, cookieName('session', { secure })),
      operator: cookieOf(cookie, cookieName('operator', { secure })),
    },
  };
}

/** Serves the operator API below the pages, with a session instead of a token. */
function serveOperators(app: Express, api: Api<PageRoute, Caller>, context: PagesContext, operatorApp: Express): void {
  app.use(`${PAGES_PREFIX}${OPERATOR_PREFIX}`, async (request: Request, response: Response) => {
    const taken = await findPlace(request).take();
    if (taken === 'gone') return;
    if (!taken) return void (await sendHandled(api, request, response, busy()));
    const asked = pageRequest(context, request, response);
    const operator = await findOperator(asked);
    const refusal = refuseNoOperator(asked, operator, request);
    if (refusal !== null) return void (await sendHandled(api, request, response, refusal));
    if (operator !== null) setSignedIn(response, operator, () => findOperator(asked));
    // Express removes the mount path; the operator API expects its own prefix.
    request.url = `${OPERATOR_PREFIX}${request.url}`;
    operatorApp(request, response);
  });
}
