import { isRefusal, OPERATOR_ERRORS, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { RequestOrigin } from '@gateway/contracts/messages';
import type { Request, Response } from 'express';
import { STRANGER, UNKNOWN } from '../access-log.js';
import { canonicalJson } from './canonical-json.js';
import { actorOf, rightsOf, ROLES_BY_ACCESS, type Operator } from '../operator-api/access.js';
import { originOf } from './origin-of.js';
import { refusalOfFault } from './refusal-of-fault.js';
import { placeOf } from './request-place.js';
import { sendAnswer } from './send-answer.js';
import { sendFile } from './send-file.js';
import type { Door } from '../ports.js';
import { whoAsks } from '../operator-api/authenticate.js';
import { errorBody, refuseForNow } from './refusals.js';
import type { OperatorMetrics } from '../operator-api/operator-metrics.js';
import { BODY_BOUNDS, readInput } from './read-input.js';
import type { Handled, OperatorRoute } from '../operator-api/route.js';
import { runOnce, type OnceHandled } from '../operator-api/run-once.js';

interface Outcome {
  readonly operator: Operator | null;
  readonly result: OnceHandled | 'aborted';
}

/** One request from its head to its answer: who asks, may they, is it well-formed, once, the verb, answer, log. */
export async function serveRoute(
  door: Door,
  metrics: OperatorMetrics,
  route: OperatorRoute,
  request: Request,
  response: Response,
): Promise<void> {
  const began = performance.now();
  const origin = originOf(request, response);
  const { requestId, client } = origin;
  const { operator, result } = await outcomeOf(door, route, request, response);
  if (result === 'aborted') return;
  const { handled, replayed } = result;
  if (replayed) response.setHeader('idempotent-replayed', 'true');
  if (!isRefusal(handled) && handled.file) {
    const fault = await sendFile(request, response, handled.file);
    if (fault !== null) door.log.warn({ requestId, route: route.id, err: fault }, 'a file was cut off');
  }
  const status = sendHandled(request, response, handled, metrics);
  metrics.answered(route.id, status, (performance.now() - began) / 1000);
  if (route.method === 'GET') return;
  const facts = {
    requestId,
    client,
    operator: operator?.name ?? null,
    route: route.id,
    path: request.path,
    status,
    replayed,
  };
  const code = isRefusal(handled) ? { code: handled.refused.code } : {};
  door.log.info({ ...facts, ...code }, 'operator request');
}

/** Sends an answer or a refusal, and gives its status. */
export function sendHandled(request: Request, response: Response, handled: Handled, metrics: OperatorMetrics): number {
  if (!isRefusal(handled)) {
    sendAnswer(request, response, handled.status, handled.body);
    return handled.status;
  }
  const { code } = handled.refused;
  const status = OPERATOR_ERRORS[code];
  metrics.refused(code);
  if ('retryAfterSeconds' in handled) response.setHeader('retry-after', String(handled.retryAfterSeconds));
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  sendAnswer(request, response, status, errorBody(handled, response.locals['requestId'] as string));
  return status;
}

async function outcomeOf(door: Door, route: OperatorRoute, request: Request, response: Response): Promise<Outcome> {
  const origin = originOf(request, response);
  let operator: Operator | null = null;
  const refused = (handled: ManagementRefusal): Outcome => ({ operator, result: { handled, replayed: false } });
  try {
    const place = placeOf(request);
    // Who asks is looked up at a place; a body is awaited at none.
    const early = await place.take();
    if (early !== true) return early === 'gone' ? { operator, result: 'aborted' } : refused(refuseForNow());
    const authenticated = await whoAsks(door, request, response);
    if (isRefusal(authenticated)) {
      noteRefusedToken(door, request, origin);
      return refused(authenticated);
    }
    operator = authenticated;
    const roles = ROLES_BY_ACCESS[route.access];
    if (!roles.includes(operator.role)) {
      door.access.refused({ action: 'access_refused', actor: actorOf(operator), objectId: route.id, origin });
      return refused(refuse('operator_forbidden', `needs the role ${roles.join(' or ')}, this is ${operator.role}`));
    }
    if (route.method !== 'GET') place.release();
    const raw = { request, params: plainParams(request.params), query: request.query };
    const input = await readInput(route, raw, BODY_BOUNDS);
    if (input === 'aborted') return { operator, result: input };
    if (isRefusal(input)) return refused(input);
    const taken = await place.take();
    if (taken !== true) return taken === 'gone' ? { operator, result: 'aborted' } : refused(refuseForNow());
    const actor = actorOf(operator);
    const result = await runOnce(
      door,
      {
        operator,
        idempotencyKey: route.keepsAnswers ? request.get('idempotency-key') : undefined,
        content: () => canonicalJson([route.method, request.originalUrl, input.body ?? null]),
      },
      (command) => route.handle({ door, actor, may: rightsOf(authenticated), ...input, command }),
    );
    const { handled } = result;
    if (!isRefusal(handled) && handled.file) {
      if (!place.moveTo('files')) return refused(refuseForNow());
      await door.access.noted({ action: 'export', actor, objectId: route.id, origin });
    }
    return { operator, result };
  } catch (err) {
    return refused(refusalOfFault(door.log, err, origin.requestId));
  }
}

/** Counts an attempt with a token that is not valid; a request without one is no attempt. */
export function noteRefusedToken({ access }: Door, request: Request, origin: RequestOrigin): void {
  if (request.headers.authorization === undefined) return;
  access.refused({ action: 'operator_token_refused', actor: STRANGER, objectId: UNKNOWN, origin });
}

/** Wildcards come in pieces, because an id of a model holds slashes. */
function plainParams(params: Request['params']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, Array.isArray(value) ? value.join('/') : String(value)]),
  );
}
