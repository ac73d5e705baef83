import type { PeopleSession, RequestOrigin } from '@gateway/contracts/messages';
import type { SessionAccount } from '@gateway/contracts/pages';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Operator } from '../operator-api/access.js';
import type { PageRefusal } from './refusals.js';
import { REQUEST_MS_MAX } from '../http/listener.js';
import type { BodyBounds } from '../http/read-body.js';
import type { TextFile } from '../http/send-file.js';
import type { PagesDoor } from '../page-ports.js';

/** A validated request of the pages. */
export interface PageContext {
  readonly door: PagesDoor;
  readonly requestId: string;
  /** Where it comes from, as attempts are counted. */
  readonly client: string;
  /** The same, as the audit log has it. */
  readonly origin: RequestOrigin;
  /** The cookies as they came; null: none. They prove nothing yet. */
  readonly cookies: { readonly session: string | null; readonly operator: string | null };
  /** As it came; a row that makes something takes it. */
  readonly idempotencyKey: string | undefined;
}

/** Of somebody who is signed in. */
export interface UserContext extends PageContext {
  readonly session: PeopleSession;
  /** How the person stands in audit entries. */
  readonly actor: string;
}

/** Of a member of the account in the path, whose role allows it. */
export interface AccountContext extends UserContext {
  readonly account: SessionAccount;
}

/** Of whoever is signed in as an operator. */
export interface OperatorContext extends PageContext {
  readonly operator: Operator;
}

export interface Input<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

export type PageStatus = 200 | 201 | 202 | 204;
export interface PageAnswered {
  readonly status: PageStatus;
  /** Absent with 204, and with a file or a stream. */
  readonly body?: object;
  readonly file?: TextFile;
  /** Set-Cookie lines. */
  readonly cookies?: readonly string[];
  /** Ends the response itself. Never rejects. */
  readonly stream?: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}
export type PageHandled = PageAnswered | PageRefusal;

/** Of strangers: small, and at once. */
const OPEN_BODY: BodyBounds = { bytesMax: 4 * 1024, msMax: 5_000 };
const SIGNED_IN_BODY: BodyBounds = { bytesMax: 64 * 1024, msMax: REQUEST_MS_MAX };

/**
 * Who may use a route. `anyone`: no session is looked at. `user`: whoever is signed in. `member`: every member of the account
 * `{account}` of the path; `manager`: its owner and admins. `operator`: whoever has an operator's session.
 */
export type PageAccess = 'anyone' | 'user' | 'member' | 'manager' | 'operator';

interface PageSpec<C, P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  /** Unique; label in metrics. */
  readonly id: string;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below `/api`, parameters in braces. */
  readonly path: string;
  readonly params: P;
  readonly query: Q;
  /** Null: a body is not needed, and an empty object does no harm. */
  readonly body: B | null;
  /** Largest body, in bytes; that of its access when absent. */
  readonly bodyBytesMax?: number;
  /** Refusals are returned; a BusFault that is thrown becomes 503 `dependency_unavailable`. */
  handle(request: C & Input<z.output<P>, z.output<Q>, z.output<B>>): Promise<PageHandled>;
}

/** A row of the pages' table. */
export interface PageRoute extends Omit<PageSpec<AccountContext, z.ZodObject, z.ZodObject, z.ZodType>, 'handle'> {
  readonly access: PageAccess;
  readonly bodyForm: 'json';
  handle(request: AccountContext & OperatorContext & Input<unknown, unknown, unknown>): Promise<PageHandled>;
}

/** What a body of this row may be. */
export function bodyBoundsOf({ access, bodyBytesMax }: Pick<PageRoute, 'access' | 'bodyBytesMax'>): BodyBounds {
  const bounds = access === 'anyone' ? OPEN_BODY : SIGNED_IN_BODY;
  return bodyBytesMax === undefined ? bounds : { ...bounds, bytesMax: bodyBytesMax };
}

const nothing = z.object({});
type Nothing = typeof nothing;
type Optional = 'params' | 'query' | 'body';
type Row<C, P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = Omit<PageSpec<C, P, Q, B>, Optional> &
  Partial<Pick<PageSpec<C, P, Q, B>, Optional>>;

/** A row that needs no session. */
export function openRoute<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(row: Row<PageContext, P, Q, B>): PageRoute {
  return pageRoute('anyone', row);
}

/** A row of whoever is signed in. */
export function userRoute<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(row: Row<UserContext, P, Q, B>): PageRoute {
  return pageRoute('user', row);
}

/** A row of whoever is signed in as an operator. */
export function operatorRoute<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(row: Row<OperatorContext, P, Q, B>): PageRoute {
  return pageRoute('operator', row);
}

/** A row below `/accounts/{account}`, whose parameter the row need not name. */
export function accountRoute<
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(access: 'member' | 'manager', row: Row<AccountContext, P, Q, B>): PageRoute {
  return pageRoute(access, { ...row, path: `/accounts/{account}${row.path}` });
}

function pageRoute<C, P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>(
  access: PageAccess,
  row: Row<C, P, Q, B>,
): PageRoute {
  const { handle } = row;
  return {
    params: nothing,
    query: nothing,
    body: null,
    ...row,
    access,
    bodyForm: 'json',
    // Whoever calls it has validated with the schemas of this very row, and has looked up what its access needs.
    handle: (request) => handle(request as unknown as C & Input<z.output<P>, z.output<Q>, z.output<B>>),
  };
}
