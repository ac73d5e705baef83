import type { CommandAuthor, PeopleSession, RequestOrigin } from '@gateway/contracts/messages';
import type { PageErrorCode, SessionAccount } from '@gateway/contracts/pages';
import { type Refusal, refuseForNow } from '../http/refusals.js';
import { type Route, createDefineRoute } from '../http/route.js';
import type { Operator } from '../operator-api/access.js';
import type { Context } from '../operator-api/route.js';
import type { EdgeClient } from './models/edge-client.js';
import type { PagesSettings } from './settings.js';
import type { Passwords } from './sign-in/passwords.js';
import type { SessionSecrets } from './sign-in/session-secrets.js';

/** Objects that all routes of the pages use; created once, in `apps.ts`. */
export interface PagesContext extends Context {
  readonly sessions: SessionSecrets;
  readonly passwords: Passwords;
  readonly edge: EdgeClient;
  readonly settings: PagesSettings;
}

/** A validated request of a page. */
export interface PageRequest extends PagesContext {
  readonly requestId: string;
  /** The client's network, by which attempts are counted. */
  readonly client: string;
  /** The origin as the audit log records it. */
  readonly origin: RequestOrigin;
  /** The received cookies, not verified yet; null: none. */
  readonly cookies: { readonly session: string | null; readonly operator: string | null };
  /** The received header, not validated yet. Used by routes that create something. */
  readonly idempotencyKey: string | undefined;
}

/** A request of a signed-in person. */
export interface UserRequest extends PageRequest {
  readonly session: PeopleSession;
  /** The person and the origin of the request; part of every command. */
  readonly author: CommandAuthor;
}

/** A request of a member of the account in the path, whose role permits it. */
export interface AccountRequest extends UserRequest {
  readonly account: SessionAccount;
}

/** A request of a signed-in operator. */
export interface OperatorPageRequest extends PageRequest {
  readonly operator: Operator;
}

/**
 * Who may use a route, and what its handler receives. `anyone`: no session is read. `user`: all
 * signed-in people. `member`: all members of the account `{account}` in the path; `manager`: its
 * owner and admins. `operator`: all operators with a session.
 */
type CallersByAccess = {
  readonly anyone: PageRequest;
  readonly user: UserRequest;
  readonly member: AccountRequest;
  readonly manager: AccountRequest;
  readonly operator: OperatorPageRequest;
};

export interface PageBounds {
  /** Largest body, in bytes; default: the bound of the route's access. */
  readonly bodyBytesMax?: number;
}

/** A route of the pages' API, below `/api`. */
export type PageRoute = Route<keyof CallersByAccess, PageRequest> & PageBounds;

export const defineRoute = createDefineRoute<PageRequest, CallersByAccess, PageBounds>();

export function refusePage(code: PageErrorCode, message: string, param: string | null = null): Refusal {
  return { refused: { code, message, param } };
}

export function tooManyAttempts(retryAfterSeconds: number): Refusal {
  return { ...refusePage('too_many_attempts', 'too many attempts; wait before the next one'), retryAfterSeconds };
}

/** Refuses a request because the queue of password hashes or all places are full. */
export function busy(): Refusal {
  return refuseForNow('too many requests right now; try again shortly');
}
