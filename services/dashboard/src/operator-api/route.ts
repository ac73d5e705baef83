import type { Bus } from '@gateway/bus';
import { accountsGetAccount, type CommandAuthor } from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type OperatorErrorCode } from '@gateway/contracts/operator';
import type { Clock, Logger } from '@gateway/service-kit';
import type { z } from 'zod';
import type { AccessLog } from '../access-log.js';
import { routeDefiner, type Handled, type Route } from '../http/route.js';
import type { Secrets } from '../secrets.js';
import type { Access, May } from './access.js';
import type { TokenAttempts } from './token-attempts.js';

/** The services, asked over the bus. Rejects with a BusFault. */
export type Services = Pick<Bus, 'request'>;

/** What every route can use; made once, in `apps.ts`. */
export interface Context {
  readonly services: Services;
  /** Whose wrong tokens are bounded. */
  readonly attempts: TokenAttempts;
  readonly secrets: Secrets;
  readonly access: AccessLog;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A validated request of an operator who may make it. */
export interface OperatorRequest extends Context {
  /** The operator and the origin of the request: part of every command. */
  readonly author: CommandAuthor;
  /** For routes in which the right follows from the change. */
  readonly may: May;
  /** Comes with an idempotency key: the same one again makes nothing twice. */
  readonly command: string | undefined;
}

type SuccessStatus = 200 | 201 | 204;

/** What the OpenAPI document says of a route beside its schemas. */
export interface Documented {
  readonly summary: string;
  readonly answers: Readonly<Partial<Record<SuccessStatus, z.ZodType | null>>>;
  /** Media types of what is answered; JSON when absent. */
  readonly answerTypes?: readonly string[];
  /** Codes beside those that every route has. */
  readonly refusals?: readonly OperatorErrorCode[];
  /** Fields beside `error`, by code. */
  readonly refusedWith?: Readonly<Partial<Record<OperatorErrorCode, z.ZodObject>>>;
}

/**
 * A route of the operator API, below `/operator/v1`: Express and the OpenAPI document are made of
 * it.
 */
export type OperatorRoute = Route<Access, OperatorRequest> & Documented;

export const defineRoute = routeDefiner<OperatorRequest, Record<Access, OperatorRequest>, Documented>();

/** POST routes take an `Idempotency-Key`. */
export function keepsAnswers({ method }: Pick<OperatorRoute, 'method'>): boolean {
  return method === 'POST';
}

/** A verb's answer as the route's: its refusal, or what `body` makes of it. */
export function answerWith<A extends object>(
  status: 200 | 201,
  answer: A | ManagementRefusal,
  body: (answer: Exclude<A, ManagementRefusal>) => object,
): Handled {
  return isRefusal(answer) ? answer : { status, body: body(answer as Exclude<A, ManagementRefusal>) };
}

/** One page of a list. */
export function answerPage<A extends { readonly nextCursor: string | null }>(
  answer: A | ManagementRefusal,
  data: (answer: A) => readonly object[],
): Handled {
  if (isRefusal(answer)) return answer;
  return { status: 200, body: { data: data(answer), next_cursor: answer.nextCursor } };
}

/** 204, or the verb's refusal. */
export function answerGone(answer: object | ManagementRefusal): Handled {
  return isRefusal(answer) ? answer : { status: 204 };
}

/**
 * Asks only for an account that exists: other services know an account by what they keep of it,
 * which may be nothing.
 */
export async function ofAccount(services: Services, account: string, ask: () => Promise<Handled>): Promise<Handled> {
  const found = await services.request(accountsGetAccount, { account });
  return isRefusal(found) ? found : ask();
}
