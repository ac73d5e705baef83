import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Refusal } from './refusals.js';
import type { TextFile } from './send-file.js';

export interface RouteResponse {
  readonly status: 200 | 201 | 202 | 204;
  /** Absent with 204, a file or a stream. */
  readonly body?: object;
  /** Sent instead of a body. */
  readonly file?: TextFile;
  /** Set-Cookie lines. */
  readonly cookies?: readonly string[];
  /** Writes and ends the response. Never rejects. */
  readonly stream?: (response: ServerResponse) => Promise<void>;
  /** True if this repeats the response to an earlier request with the same idempotency key. */
  readonly replayed?: boolean;
}
export type RouteResult = RouteResponse | Refusal;

/** The parts of a request, validated by the schemas of its route. */
export interface Input<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

/** `Caller`: what a handler receives in addition to the input; determined by `access`. */
export interface RouteSpec<
  A extends string,
  Caller,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodType,
> {
  /** Unique. Label in metrics, `operationId` in the OpenAPI document. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Path below the API's prefix, with parameters in braces. */
  readonly path: string;
  /** Access policy of the API that applies. `anyone`: the caller is not identified. */
  readonly access: A;
  readonly params: P;
  readonly query: Q;
  /** Null: the route takes no body; an empty object is accepted. */
  readonly body: B | null;
  /** `document`: also YAML, in the forms that `apply` accepts. */
  readonly bodyForm: 'json' | 'document';
  /** Returns refusals. A BusFault that it throws becomes 503 `dependency_unavailable`. */
  handle(request: Caller & Input<z.output<P>, z.output<Q>, z.output<B>>): Promise<RouteResult>;
}

/** A route with the types of its schemas and caller erased. */
export interface Route<A extends string = string, Caller = object> extends Omit<
  RouteSpec<A, Caller, z.ZodObject, z.ZodObject, z.ZodType>,
  'handle'
> {
  handle(request: Caller & Input<unknown, unknown, unknown>): Promise<RouteResult>;
}

const nothing = z.object({});
type Nothing = typeof nothing;
type Optional = 'params' | 'query' | 'body' | 'bodyForm';

/**
 * Creates the function that defines the routes of one API. `Callers`: what a handler receives, by
 * access; each type extends `Caller`. `Extra`: additional properties of the API's routes, such as
 * texts for its OpenAPI document.
 */
export function createDefineRoute<Caller, Callers extends Record<string, Caller>, Extra extends object = object>() {
  /** Defines a route. It has no parameters, query or body by default. */
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
    // The caller of `handle` has validated the input with this route's schemas and has identified
    // the caller that its access requires.
    return { params: nothing, query: nothing, body: null, bodyForm: 'json', ...spec };
  };
}
