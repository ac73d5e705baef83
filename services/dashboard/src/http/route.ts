import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Refusal } from './refusals.js';
import type { TextFile } from './send-file.js';

export interface Answered {
  readonly status: 200 | 201 | 202 | 204;
  /** Absent with 204, and with a file or a stream. */
  readonly body?: object;
  /** Sent in place of a body. */
  readonly file?: TextFile;
  /** Set-Cookie lines. */
  readonly cookies?: readonly string[];
  /** Ends the response itself. Never rejects. */
  readonly stream?: (response: ServerResponse) => Promise<void>;
  /** The answer to an earlier request with the same idempotency key. */
  readonly replayed?: boolean;
}
export type Handled = Answered | Refusal;

/** The parts of a request that the schemas of its route have validated. */
export interface Input<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

/** `Caller`: what a handler gets beside the input, which follows from `access`. */
export interface RouteSpec<
  A extends string,
  Caller,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
> {
  /** Unique; label in metrics, `operationId` in a document. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the prefix of its API, parameters in braces. */
  readonly path: string;
  /** The policy of its API that says who may use it. `anyone`: nobody is looked up. */
  readonly access: A;
  readonly params: P;
  readonly query: Q;
  /** Null: a body is not needed, and an empty object does no harm. */
  readonly body: B | null;
  /** `document`: YAML too, in the shapes that `apply` takes. */
  readonly bodyForm: 'json' | 'document';
  /** Refusals are returned; a BusFault that is thrown becomes 503 `dependency_unavailable`. */
  handle(request: Caller & Input<z.output<P>, z.output<Q>, z.output<B>>): Promise<Handled>;
}

/** A route whose schemas and caller are not known to the compiler any more. */
export interface Route<A extends string = string, Caller = object> extends Omit<
  RouteSpec<A, Caller, z.ZodObject, z.ZodObject, z.ZodType>,
  'handle'
> {
  handle(request: Caller & Input<unknown, unknown, unknown>): Promise<Handled>;
}

const nothing = z.object({});
type Nothing = typeof nothing;
type Optional = 'params' | 'query' | 'body' | 'bodyForm';

/**
 * Makes the function that defines the routes of one API.
 * `Callers`: by access, what a handler gets; each extends `Caller`, which all of them get.
 * `Extra`: what the API's routes have beside, like the words of its document.
 */
export function routeDefiner<Caller, Callers extends Record<string, Caller>, Extra extends object = object>() {
  /** A route. Parameters, query and body are none unless stated. */
  return function defineRoute<
    A extends keyof Callers & string,
    P extends z.ZodObject = Nothing,
    Q extends z.ZodObject = Nothing,
    B extends z.ZodType = z.ZodUndefined,
  >(
    spec: Omit<RouteSpec<A, Callers[A], P, Q, B>, Optional> &
      Partial<Pick<RouteSpec<A, Callers[A], P, Q, B>, Optional>> &
      Extra,
  ): Route<keyof Callers & string, Caller> & Extra {
    // Whoever calls `handle` has validated with the schemas of this very route, and has looked up
    // what its access needs.
    return { params: nothing, query: nothing, body: null, bodyForm: 'json', ...spec };
  };
}
