import type { PeopleSession, RequestOrigin, CommandAuthor } from '@gateway/contracts/messages';
import type { SessionAccount } from '@gateway/contracts/pages';
import { routeDefiner, type Route } from '../http/route.js';
import type { Operator } from '../operator-api/access.js';
import type { Context } from '../operator-api/route.js';
import type { EdgeClient } from './models/edge-client.js';
import type { PagesSettings } from './settings.js';
import type { Passwords } from './sign-in/passwords.js';
import type { SessionSecrets } from './sign-in/session-secrets.js';

/** What every route of the pages can use; made once, in `apps.ts`. */
export interface PagesContext extends Context {
  readonly sessions: SessionSecrets;
  readonly passwords: Passwords;
  readonly edge: EdgeClient;
  readonly settings: PagesSettings;
}

/** A validated request of the pages. */
export interface PageRequest extends PagesContext {
  readonly requestId: string;
  /** Where it comes from, as attempts are counted. */
  readonly client: string;
  /** The same, as the audit log has it. */
  readonly origin: RequestOrigin;
  /** The cookies as they came; null: none. They prove nothing yet. */
  readonly cookies: { readonly session: string | null; readonly operator: string | null };
  /** As it came; a route that makes something takes it. */
  readonly idempotencyKey: string | undefined;
}

/** Of somebody who is signed in. */
export interface UserRequest extends PageRequest {
  readonly session: PeopleSession;
  /** The person and the origin of the request: part of every command. */
  readonly author: CommandAuthor;
}

/** Of a member of the account in the path, whose role allows it. */
export interface AccountRequest extends UserRequest {
  readonly account: SessionAccount;
}

/** Of somebody who is signed in as an operator. */
export interface OperatorPageRequest extends PageRequest {
  readonly operator: Operator;
}

/**
 * Who may use a route, and what its handler gets. `anyone`: no session is looked at. `user`:
 * everybody who is signed in. `member`: every member of the account `{account}` of the path;
 * `manager`: its owner and admins. `operator`: everybody who has an operator's session.
 */
type Callers = {
  readonly anyone: PageRequest;
  readonly user: UserRequest;
  readonly member: AccountRequest;
  readonly manager: AccountRequest;
  readonly operator: OperatorPageRequest;
};

export interface PageBounds {
  /** Largest body, in bytes; that of its access when absent. */
  readonly bodyBytesMax?: number;
}

/** A route of the pages' API, below `/api`. */
export type PageRoute = Route<keyof Callers, PageRequest> & PageBounds;

export const defineRoute = routeDefiner<PageRequest, Callers, PageBounds>();
