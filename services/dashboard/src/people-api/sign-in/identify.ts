import { accountsFindSession, objectId, type PeopleSession } from '@gateway/contracts/messages';
import type { SessionAccount } from '@gateway/contracts/pages';
import type { IncomingMessage } from 'node:http';
import type { Operator } from '../../operator-api/access.js';
import { refusePage, type PageRefusal } from '../refusals.js';
import type { PagesDoor } from '../../page-ports.js';
import { findOperator } from './find-operator.js';
import type { PageContext, PageRoute } from '../route.js';
import { isSessionForm } from './session-form.js';

export const CSRF_HEADER = 'x-csrf-token';

export interface Identified {
  readonly session: PeopleSession;
  readonly actor: string;
  readonly account: SessionAccount;
  readonly operator: Operator;
}

/** The session of a cookie that has the form of one; asked each time, so that a sign-out holds at once. */
export async function findSession(door: PagesDoor, cookie: string | null): Promise<PeopleSession | null> {
  if (cookie === null || !isSessionForm(cookie)) return null;
  const digests = door.sessions.digestsOf(cookie);
  return (await door.services.request(accountsFindSession, { digests })).session;
}

/**
 * Who asks, whether the request comes from our own pages, and whether the account is theirs: in this order, so that a foreign page
 * learns nothing, and an id of somebody else's account is not known.
 */
export async function identify(
  { door, cookies, origin }: PageContext,
  route: PageRoute,
  request: IncomingMessage,
  account: string | undefined,
): Promise<Partial<Identified> | PageRefusal> {
  const foreign = route.method === 'GET' ? null : refuseForeign(door, request);
  if (foreign !== null || route.access === 'anyone') return foreign ?? {};
  if (route.access === 'operator') {
    const operator = await findOperator({ door, cookies });
    return refuseNoOperator({ door, cookies }, operator, request) ?? (operator === null ? {} : { operator });
  }
  const session = await findSession(door, cookies.session);
  if (session === null) return refusePage('not_signed_in', 'sign in first');
  const csrf = route.method === 'GET' ? null : refuseCsrf(door, request, [cookies.session]);
  if (csrf !== null) return csrf;
  const actor = `user:${session.user.id}`;
  if (route.access === 'user') return { session, actor };
  const own = objectId.safeParse(account).success ? session.accounts.find(({ id }) => id === account) : undefined;
  const refused = { action: 'access_refused', actor, objectId: route.id, origin } as const;
  if (own === undefined) {
    door.access.refused(refused);
    return refusePage('not_found', 'there is no such account');
  }
  if (route.access === 'manager' && own.role === 'member') {
    door.access.refused({ ...refused, account: own.id });
    return refusePage('forbidden', 'only the owner and the admins of the account may do this');
  }
  return { session, actor, account: own };
}

/** Whether an operator's session is there, and the request comes with its token. */
export function refuseNoOperator(
  { door, cookies }: Pick<PageContext, 'door' | 'cookies'>,
  operator: Operator | null,
  request: IncomingMessage,
): PageRefusal | null {
  if (operator === null) return refusePage('not_signed_in', 'sign in as an operator first');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead
    ? null
    : (refuseForeign(door, request) ?? refuseCsrf(door, request, [cookies.operator, cookies.session]));
}

/** A browser names the page that sends a request; other clients name none. */
export function refuseForeign({ settings }: PagesDoor, request: IncomingMessage): PageRefusal | null {
  const { origin } = request.headers;
  if (origin === undefined || settings.origins.has(origin)) return null;
  return refusePage('csrf', 'the request does not come from the pages of this dashboard', 'Origin');
}

/** The header must belong to one of these cookies. */
export function refuseCsrf(
  { sessions }: PagesDoor,
  request: IncomingMessage,
  cookies: readonly (string | null)[],
): PageRefusal | null {
  const token = request.headers[CSRF_HEADER];
  const isOurs =
    typeof token === 'string' && cookies.some((cookie) => cookie !== null && sessions.isCsrfToken(cookie, token));
  return isOurs ? null : refusePage('csrf', `${CSRF_HEADER}: not the one that GET /api/session answers`, CSRF_HEADER);
}
