import type { Bus } from '@gateway/bus';
import { accountsGetAccount, type CommandAuthor } from '@gateway/contracts/messages';
import {
  createPageSchema,
  isRefusal,
  pageQuery,
  type ManagementRefusal,
  type OperatorErrorCode,
} from '@gateway/contracts/operator';
import type { Clock, Logger } from '@gateway/service-kit';
import type { z } from 'zod';
import type { AccessLog } from '../access-log.js';
import { createDefineRoute, type RouteResult, type Route } from '../http/route.js';
import type { Secrets } from '../secrets.js';
import type { Permission, PermissionCheck } from './access.js';
import type { TokenAttempts } from './token-attempts.js';

/** Sends requests to the services over the bus. Rejects with a BusFault. */
export type Services = Pick<Bus, 'request'>;

/** Objects that all routes use; created once, in `apps.ts`. */
export interface Context {
  readonly services: Services;
  /** Limits wrong operator tokens. */
  readonly attempts: TokenAttempts;
  readonly secrets: Secrets;
  readonly access: AccessLog;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A validated request of an operator who is permitted to make it. */
export interface OperatorRequest extends Context {
  /** The operator and the origin of the request; part of every command. */
  readonly author: CommandAuthor;
  /** For routes whose permission depends on the change. */
  readonly may: PermissionCheck;
  /** Set if the request has an idempotency key. A repeated command creates nothing twice. */
  readonly command: string | undefined;
}

type SuccessStatus = 200 | 201 | 204;

/** Texts and schemas of a route in the OpenAPI document. */
export interface RouteDocumentation {
  readonly summary: string;
  readonly answers: Readonly<Partial<Record<SuccessStatus, z.ZodType | null>>>;
  /** Media types of the response; JSON when absent. */
  readonly answerTypes?: readonly string[];
  /** Codes in addition to those of every route. */
  readonly refusals?: readonly OperatorErrorCode[];
  /** Fields next to `error`, by code. */
  readonly refusedWith?: Readonly<Partial<Record<OperatorErrorCode, z.ZodObject>>>;
}

/** A route below `/operator/v1`, from which the OpenAPI document is built too. */
export type OperatorRoute = Route<Permission, OperatorRequest> & RouteDocumentation;

export const defineRoute = createDefineRoute<
  OperatorRequest,
  Record<Permission, OperatorRequest>,
  RouteDocumentation
>();

/** The parts that all routes for one object have in common. */
export const readRoute = <V extends z.ZodType>(view: V) =>
  ({ method: 'GET', access: 'read', answers: { 200: view } }) as const;

/** The parts that all routes for one page of a list have in common. */
export const listRoute = <V extends z.ZodType>(view: V) =>
  ({ ...readRoute(createPageSchema(view)), query: pageQuery }) as const;

/** POST routes accept an `Idempotency-Key`. */
export function isIdempotent({ method }: Pick<OperatorRoute, 'method'>): boolean {
  return method === 'POST';
}

/** Converts a service's response: passes on its refusal, or responds with `body`. */
export function respondWith<A extends object>(
  status: 200 | 201,
  answer: A | ManagementRefusal,
  body: (answer: Exclude<A, ManagementRefusal>) => object,
): RouteResult {
  return isRefusal(answer) ? answer : { status, body: body(answer as Exclude<A, ManagementRefusal>) };
}

/** Converts one page of a list. */
export function respondPage<A extends { readonly nextCursor: string | null }>(
  answer: A | ManagementRefusal,
  data: (answer: A) => readonly object[],
): RouteResult {
  if (isRefusal(answer)) return answer;
  return { status: 200, body: { data: data(answer), next_cursor: answer.nextCursor } };
}

/** Responds with 204, or passes on the refusal. */
export function respondDeleted(answer: object | ManagementRefusal): RouteResult {
  return isRefusal(answer) ? answer : { status: 204 };
}

/**
 * Calls `ask` if the account exists. Other services cannot check this, because they may have no
 * data of an account yet.
 */
export async function withAccount(
  services: Services,
  account: string,
  ask: () => Promise<RouteResult>,
): Promise<RouteResult> {
  const found = await services.request(accountsGetAccount, { account });
  return isRefusal(found) ? found : ask();
}
