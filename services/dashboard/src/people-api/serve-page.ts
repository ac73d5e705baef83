import { isRefusal } from '@gateway/contracts/operator';
import { PAGE_ERRORS, type PageError } from '@gateway/contracts/pages';
import type { Request, Response } from 'express';
import { STRANGER } from '../access-log.js';
import { cookieName, cookieOf } from './sign-in/cookies.js';
import { IDEMPOTENCY_KEY } from '../http/idempotency-key.js';
import { busy, isPageRefusal } from './refusals.js';
import { originOf } from '../http/origin-of.js';
import { refusalOfFault } from '../http/refusal-of-fault.js';
import { placeOf } from '../http/request-place.js';
import { sendAnswer } from '../http/send-answer.js';
import { sendFile } from '../http/send-file.js';
import { readInput } from '../http/read-input.js';
import type { PagesDoor } from '../page-ports.js';
import { identify, type Identified } from './sign-in/identify.js';
import type { PageMetrics } from './page-metrics.js';
import {
  bodyBoundsOf,
  type AccountContext,
  type OperatorContext,
  type PageAnswered,
  type PageContext,
  type PageHandled,
  type PageRoute,
} from './route.js';

interface Outcome {
  readonly who: Partial<Identified>;
  readonly handled: PageHandled | 'aborted';
}

/** One request from its head to its answer: who asks, from where, may they, is it well-formed, the verb, answer, log. */
export async function servePage(
  door: PagesDoor,
  metrics: PageMetrics,
  route: PageRoute,
  request: Request,
  response: Response,
): Promise<void> {
  const began = performance.now();
  const context = contextOf(door, request, response);
  const { who, handled } = await outcomeOf(context, route, request);
  if (handled === 'aborted') return;
  const status = await sendPage(context, request, response, handled);
  metrics.answered(route.id, status, (performance.now() - began) / 1000);
  if (route.method === 'GET') return;
  const { requestId } = context;
  const code = isPageRefusal(handled) ? { code: handled.refused.code } : {};
  const account = who.account?.id ?? null;
  door.log.info(
    {
      requestId,
      client: context.client,
      user: who.session?.user.id ?? null,
      account,
      route: route.id,
      status,
      ...code,
    },
    'page request',
  );
}

export function contextOf(door: PagesDoor, request: Request, response: Response): PageContext {
  const { cookie } = request.headers;
  const form = { secure: door.settings.secure };
  const origin = originOf(request, response);
  return {
    door,
    requestId: response.locals['requestId'] as string,
    idempotencyKey: request.get(IDEMPOTENCY_KEY),
    client: origin.client,
    origin,
    cookies: {
      session: cookieOf(cookie, cookieName('session', form)),
      operator: cookieOf(cookie, cookieName('operator', form)),
    },
  };
}

async function outcomeOf(context: PageContext, route: PageRoute, request: Request): Promise<Outcome> {
  let who: Partial<Identified> = {};
  try {
    const place = placeOf(request);
    const { account, ...params } = request.params as Record<string, string>;
    // Who asks is looked up at a place; a body is awaited at none.
    const early = route.access === 'anyone' ? true : await place.take();
    if (early !== true) return { who, handled: early === 'gone' ? 'aborted' : busy() };
    const found = await identify(context, route, request, account);
    if (isPageRefusal(found)) return { who, handled: found };
    who = found;
    if (route.method !== 'GET') place.release();
    const input = await readInput(route, { request, params, query: request.query }, bodyBoundsOf(route));
    if (input === 'aborted') return { who, handled: input };
    if (isRefusal(input)) return { who, handled: input };
    const taken = await place.take();
    if (taken !== true) return { who, handled: taken === 'gone' ? 'aborted' : busy() };
    const handled = await route.handle({ ...(context as AccountContext & OperatorContext), ...who, ...input });
    if (isLasting(handled) && !place.moveTo(handled.file ? 'files' : 'streams')) return { who, handled: busy() };
    if (isLasting(handled) && handled.file) {
      const { actor = STRANGER, account } = who;
      const entry = { actor, account: account?.id ?? null, objectId: route.id, origin: context.origin };
      await context.door.access.noted({ action: 'export', ...entry });
    }
    return { who, handled };
  } catch (err) {
    return { who, handled: refusalOfFault(context.door.log, err, context.requestId) };
  }
}

function isLasting(handled: PageHandled): handled is PageAnswered {
  return !isPageRefusal(handled) && (handled.file !== undefined || handled.stream !== undefined);
}

/** Sends an answer or a refusal, and gives its status. */
export async function sendPage(
  { door, requestId }: Pick<PageContext, 'door' | 'requestId'>,
  request: Request,
  response: Response,
  handled: PageHandled,
): Promise<number> {
  if (isPageRefusal(handled)) {
    const { refused, retryAfterSeconds } = handled;
    if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds));
    const body: PageError = { error: { ...refused, request_id: requestId } };
    sendAnswer(request, response, PAGE_ERRORS[refused.code], body);
    return PAGE_ERRORS[refused.code];
  }
  if (handled.cookies) response.setHeader('set-cookie', [...handled.cookies]);
  if (handled.stream) {
    await handled.stream(request, response);
    return response.statusCode;
  }
  if (handled.file) {
    const fault = await sendFile(request, response, handled.file);
    if (fault !== null) door.log.warn({ requestId, err: fault }, 'a file was cut off');
    return response.statusCode;
  }
  sendAnswer(request, response, handled.status, handled.body);
  return handled.status;
}
