import { isRefusal, type ManagementRefusal, type OperatorErrorCode } from '@gateway/contracts/operator';
import { z } from 'zod';
import type { TextFile } from '../http/send-file.js';
import type { Access, May } from './access.js';
import type { Door } from '../ports.js';
import type { LaterRefusal } from '../http/refusals.js';

/** A validated request of an operator who may make it. */
export interface RouteRequest<P, Q, B> {
  readonly door: Door;
  /** How whoever asks stands in audit entries. */
  readonly actor: string;
  /** For rows in which the right follows from the change. */
  readonly may: May;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Comes with an idempotency key: the same one again makes nothing twice. */
  readonly command: string | undefined;
}

export type SuccessStatus = 200 | 201 | 204;
export interface Answered {
  readonly status: SuccessStatus;
  /** Absent with 204, and with a file. */
  readonly body?: object;
  /** Sent in place of a body. */
  readonly file?: TextFile;
}
/** A refusal with fields of its own beside `error`, which the row states in `refusedWith`. */
export interface RefusedWith extends ManagementRefusal {
  readonly beside: object;
}
export type Handled = Answered | ManagementRefusal | RefusedWith | LaterRefusal;

/** One row of the route table: Express and the OpenAPI document are made of it. */
export interface RouteSpec<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  /** Unique; `operationId` in the document, label in metrics. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below `/operator/v1`, parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly access: Access;
  readonly params: P;
  readonly query: Q;
  /** Null: a body is not needed, and an empty object does no harm. */
  readonly body: B | null;
  /** `document`: YAML too, in the shapes that `apply` takes. */
  readonly bodyForm: 'json' | 'document';
  readonly answers: Readonly<Partial<Record<SuccessStatus, z.ZodType | null>>>;
  /** Media types of what is answered; JSON unless it is a file. */
  readonly answerTypes: readonly string[];
  /** Codes beside those that every route has. */
  readonly refusals: readonly OperatorErrorCode[];
  /** Fields beside `error`, by code. */
  readonly refusedWith: Readonly<Partial<Record<OperatorErrorCode, z.ZodObject>>>;
  /** Refusals are returned; a BusFault that is thrown becomes 503 `dependency_unavailable`. */
  handle(request: RouteRequest<z.output<P>, z.output<Q>, z.output<B>>): Promise<Handled>;
}

/** A route whose schemas are not known to the compiler any more. */
export interface OperatorRoute extends Omit<RouteSpec<z.ZodObject, z.ZodObject, z.ZodType>, 'handle'> {
  /** POST routes take an `Idempotency-Key`. */
  readonly keepsAnswers: boolean;
  handle(request: RouteRequest<unknown, unknown, unknown>): Promise<Handled>;
}

const nothing = z.object({});
type Nothing = typeof nothing;
type Optional = 'params' | 'query' | 'body' | 'bodyForm' | 'answerTypes' | 'refusals' | 'refusedWith';

/** A row of the table. Parameters, query, body and further refusals are none unless stated. */
export function route<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(spec: Omit<RouteSpec<P, Q, B>, Optional> & Partial<Pick<RouteSpec<P, Q, B>, Optional>>): OperatorRoute {
  const { handle } = spec;
  return {
    params: nothing,
    query: nothing,
    body: null,
    bodyForm: 'json',
    answerTypes: ['application/json'],
    refusals: [],
    refusedWith: {},
    ...spec,
    keepsAnswers: spec.method === 'POST',
    // Whoever calls it has validated with the schemas of this very row.
    handle: (request) => handle(request as RouteRequest<z.output<P>, z.output<Q>, z.output<B>>),
  };
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
