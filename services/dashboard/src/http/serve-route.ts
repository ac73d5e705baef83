import type { RequestOrigin, CommandAuthor } from '@gateway/contracts/messages';
import { PAGE_ERRORS, type PageErrorCode } from '@gateway/contracts/pages';
import { counter, histogram, type Logger } from '@gateway/service-kit';
import type { Express, NextFunction, Request, Response } from 'express';
import { UNAUTHENTICATED, type AccessLog } from '../access-log.js';
import type { BodyBounds } from './read-body.js';
import { readInput, type ValidInput } from './read-input.js';
import { errorBody, isRouteRefusal, toRefusal, type Refusal } from './refusals.js';
import { readOrigin, findPlace } from './request-place.js';
import type { RouteResult, Route } from './route.js';
import { sendResponse } from './send-answer.js';
import { sendFile } from './send-file.js';
import { toExpressPath, isUnreadablePath } from './strict-app.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The caller of a route. Without an author, the audit log has {@link UNAUTHENTICATED}. */
interface Caller {
  readonly author?: CommandAuthor;
  readonly account?: { readonly id: string };
}

/** The parts in which the two APIs differ: access, metrics, log lines. */
export interface Api<R extends Route, C extends Caller> {
  /** Prefix of log messages, as in `operator request`. */
  readonly name: string;
  /** Prefix of the metrics `<prefix>_requests_total` and `<prefix>_request_seconds`. */
  readonly metricPrefix: string;
  /** The API's name in help texts of metrics. */
  readonly title: string;
  readonly log: Logger;
  readonly access: AccessLog;
  /** Returns the refusal for a request without a free place. */
  busy(): Refusal;
  /**
   * Identifies the caller, or refuses. Called a second time if the body arrived after the head, so
   * implementations must not cache the first result.
   */
  identify(route: R, request: Request, response: Response): Promise<C | Refusal>;
  /** Refuses a caller that is identified but not permitted. Null: permitted. */
  authorize?(route: R, caller: C): Refusal | null;
  bodyBoundsOf(route: R): BodyBounds;
  run(route: R, caller: C, input: ValidInput, request: Request): Promise<RouteResult>;
  /** Fields about the caller for the log line of a write. A null caller is unknown. */
  factsOf(caller: C | null, request: Request, handled: RouteResult): object;
  /** Called for each refusal, before it is sent. */
  refused?(code: PageErrorCode, status: number, response: Response): void;
}

/**
 * Serves the routes of an API at their paths. `pathOf` returns null for a route that this
 * deployment does not serve. Statuses are counted by class, because a series per route and status
 * would exceed the limit of a metric.
 */
export function addRoutes<R extends Route, C extends Caller>(
  app: Express,
  api: Api<R, C>,
  routes: readonly R[],
  pathOf: (route: R) => string | null,
): void {
  const requests = counter(`${api.metricPrefix}_requests_total`, `Requests of ${api.title}`, {
    route: routes.map(({ id }) => id),
    status: ['2xx', '4xx', '5xx'],
  });
  const seconds = histogram(`${api.metricPrefix}_request_seconds`, `Time to a response of ${api.title}`, SECONDS);
  for (const route of routes) {
    const path = pathOf(route);
    if (path === null) continue;
    const method = route.method.toLowerCase() as 'get' | 'put' | 'post' | 'delete';
    app[method](toExpressPath(path), async (request: Request, response: Response) => {
      const began = performance.now();
      const status = await serveRoute(api, route, request, response);
      if (status === 'aborted') return;
      requests.of({ route: route.id, status: `${Math.floor(status / 100)}xx` as '2xx' | '4xx' | '5xx' }).add();
      seconds.observe((performance.now() - began) / 1000);
    });
  }
}

/**
 * Answers unmatched requests with `unknown`, and handles faults outside of routes. Call after all
 * routes are added.
 */
export function addFallbacks<R extends Route, C extends Caller>(
  app: Express,
  api: Api<R, C>,
  unknown: (request: Request, response: Response) => Promise<Refusal> | Refusal | 'sent',
): void {
  app.use(async (request: Request, response: Response) => {
    const refusal = await unknown(request, response);
    if (refusal !== 'sent') await sendHandled(api, request, response, refusal);
  });
  // Express recognizes an error handler by its four parameters.
  app.use(async (error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const refusal: Refusal = isUnreadablePath(error)
      ? { refused: { code: 'invalid_request', message: 'the path cannot be decoded', param: null } }
      : toRefusal(api.log, error, response.locals['requestId'] as string);
    await sendHandled(api, request, response, refusal);
  });
}

/** Identifies, authorizes, validates, runs and responds. A write leaves one log line. */
async function serveRoute<R extends Route, C extends Caller>(
  api: Api<R, C>,
  route: R,
  request: Request,
  response: Response,
): Promise<number | 'aborted'> {
  const origin = readOrigin(request, response);
  const { requestId, client } = origin;
  const { caller, handled } = await outcomeOf(api, route, request, response, origin);
  if (handled === 'aborted') return handled;
  const status = await sendHandled(api, request, response, handled);
  if (route.method === 'GET') return status;
  const code = isRouteRefusal(handled) ? { code: handled.refused.code } : {};
  const facts = { requestId, client, ...api.factsOf(caller, request, handled), route: route.id, status, ...code };
  api.log.info(facts, `${api.name} request`);
  return status;
}

interface Outcome<C> {
  readonly caller: C | null;
  readonly handled: RouteResult | 'aborted';
}

async function outcomeOf<R extends Route, C extends Caller>(
  api: Api<R, C>,
  route: R,
  request: Request,
  response: Response,
  origin: RequestOrigin,
): Promise<Outcome<C>> {
  let caller: C | null = null;
  const ended = (handled: RouteResult | 'aborted'): Outcome<C> => ({ caller, handled });
  const whoMay = async (): Promise<C | Refusal> => {
    const found = await api.identify(route, request, response);
    if (isRouteRefusal(found)) return found;
    caller = found;
    return api.authorize?.(route, found) ?? found;
  };
  try {
    const place = findPlace(request);
    // Identifying the caller needs a place; waiting for the body does not.
    const early = route.access === 'anyone' ? true : await place.take();
    if (early !== true) return ended(early === 'gone' ? 'aborted' : api.busy());
    let asking = await whoMay();
    if (isRouteRefusal(asking)) return ended(asking);
    const bodyComesLater = route.method !== 'GET' && !request.complete;
    if (bodyComesLater) place.release();
    const raw = { request, params: paramsOf(route, request), query: request.query };
    const input = await readInput(route, raw, api.bodyBoundsOf(route));
    if (input === 'aborted' || isRouteRefusal(input)) return ended(input);
    const taken = await place.take();
    if (taken !== true) return ended(taken === 'gone' ? 'aborted' : api.busy());
    if (bodyComesLater) {
      // Permissions may have been revoked while the body was arriving.
      asking = await whoMay();
      if (isRouteRefusal(asking)) return ended(asking);
    }
    const handled = await api.run(route, asking, input, request);
    if (isRouteRefusal(handled)) return ended(handled);
    const { file, stream } = handled;
    const lasting = file ? 'files' : stream ? 'streams' : null;
    if (lasting !== null && !place.moveTo(lasting)) return ended(api.busy());
    if (file) {
      const { author = { actor: UNAUTHENTICATED, origin }, account } = asking;
      await api.access.noted({ action: 'export', ...author, account: account?.id ?? null, objectId: route.id });
    }
    return ended(handled);
  } catch (err) {
    return ended(toRefusal(api.log, err, origin.requestId));
  }
}

/**
 * Returns the parameters that the route declares. Express splits wildcards at slashes, and model
 * IDs contain slashes.
 */
function paramsOf({ params }: Route, request: Request): Record<string, string> {
  const known = Object.entries(request.params).filter(([name]) => Object.hasOwn(params.shape, name));
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : String(value)]),
  );
}

/** Sends a response or a refusal, and returns its status. */
export async function sendHandled<R extends Route, C extends Caller>(
  api: Api<R, C>,
  request: Request,
  response: Response,
  handled: RouteResult,
): Promise<number> {
  const requestId = response.locals['requestId'] as string;
  if (handled.replayed) response.setHeader('idempotent-replayed', 'true');
  if (isRouteRefusal(handled)) {
    const { refused, retryAfterSeconds } = handled;
    const status = PAGE_ERRORS[refused.code];
    if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds));
    api.refused?.(refused.code, status, response);
    sendResponse(request, response, status, errorBody(handled, requestId));
    return status;
  }
  if (handled.cookies) response.setHeader('set-cookie', [...handled.cookies]);
  if (handled.stream) {
    await handled.stream(response);
    return response.statusCode;
  }
  if (handled.file) {
    const fault = await sendFile(request, response, handled.file);
    if (fault !== null) api.log.warn({ requestId, err: fault }, 'a file was aborted');
    return response.statusCode;
  }
  sendResponse(request, response, handled.status, handled.body);
  return handled.status;
}
