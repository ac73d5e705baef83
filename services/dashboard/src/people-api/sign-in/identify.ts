import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import {
  type CommandAuthor,
  type PeopleSession,
  accountsFindOperatorSession,
  accountsFindSession,
  objectId,
} from '@gateway/contracts/messages';
import type { SessionAccount } from '@gateway/contracts/pages';
import type { Refusal } from '../../http/refusals.js';
import { type Operator, ROOT } from '../../operator-api/access.js';
import { type PageRequest, type PageRoute, type PagesContext, refusePage } from '../route.js';

const CSRF_HEADER = 'x-csrf-token';
/** Form of a session cookie's value. Other values are refused without a query. */
const SESSION_FORM = /^[A-Za-z0-9_-]{43}$/;

export interface CallerIdentity {
  readonly session: PeopleSession;
  readonly author: CommandAuthor;
  readonly account: SessionAccount;
  readonly operator: Operator;
}

/** Finds the session of a cookie. Not cached, so that a sign-out takes effect at once. */
export async function findSession(
  { sessions, services }: Pick<PagesContext, 'sessions' | 'services'>,
  cookie: string | null,
): Promise<PeopleSession | null> {
  if (cookie === null || !SESSION_FORM.test(cookie)) return null;
  const digests = sessions.digestsOf(cookie);
  return (await services.request(accountsFindSession, { digests })).session;
}

/**
 * Finds the operator of the cookie. Queried for each request, so that a sign-out, a deleted
 * operator and a new root token take effect at once.
 */
export async function findOperator({
  services,
  secrets,
  sessions,
  settings,
  cookies,
}: Pick<PageRequest, 'services' | 'secrets' | 'sessions' | 'settings' | 'cookies'>): Promise<Operator | null> {
  const cookie = cookies.operator;
  if (!settings.config.operatorsEnabled || cookie === null || !SESSION_FORM.test(cookie)) return null;
  const digests = sessions.operatorDigestsOf(cookie);
  const rootDigests = secrets.rootDigests();
  const { holder } = await services.request(accountsFindOperatorSession, { digests, rootDigests });
  return holder === 'root' ? ROOT : holder;
}

/**
 * Identifies the caller. Checks first that the request comes from the dashboard's own pages, then
 * the session, then the account, so that foreign pages learn nothing and accounts of other people
 * get 404.
 */
export async function identify(
  asked: PageRequest,
  route: PageRoute,
  request: Request,
): Promise<Partial<CallerIdentity> | Refusal> {
  const { access, cookies, origin } = asked;
  const foreign = route.method === 'GET' ? null : refuseForeign(asked, request);
  if (foreign !== null || route.access === 'anyone') return foreign ?? {};
  if (route.access === 'operator') {
    const operator = await findOperator(asked);
    return refuseNoOperator(asked, operator, request) ?? (operator === null ? {} : { operator });
  }
  const session = await findSession(asked, cookies.session);
  if (session === null) return refusePage('not_signed_in', 'sign in to continue');
  const csrf = route.method === 'GET' ? null : refuseCsrf(asked, request, [cookies.session]);
  if (csrf !== null) return csrf;
  const author = { actor: `user:${session.user.id}`, origin };
  if (route.access === 'user') return { session, author };
  const account = objectId.safeParse(request.params['account']);
  const own = account.success ? session.accounts.find(({ id }) => id === account.data) : undefined;
  const refused = { action: 'access_refused', ...author, objectId: route.id } as const;
  if (own === undefined) {
    access.refused(refused);
    return refusePage('not_found', 'there is no such account');
  }
  if (route.access === 'manager' && own.role === 'member') {
    access.refused({ ...refused, account: own.id });
    return refusePage('forbidden', 'only the owner and the admins of the account may do this');
  }
  return { session, author, account: own };
}

/** Refuses a request without an operator's session or its csrf token. */
export function refuseNoOperator(
  asked: Pick<PageRequest, 'settings' | 'sessions' | 'cookies'>,
  operator: Operator | null,
  request: IncomingMessage,
): Refusal | null {
  if (operator === null) return refusePage('not_signed_in', 'sign in as an operator to continue');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead
    ? null
    : (refuseForeign(asked, request) ?? refuseCsrf(asked, request, [asked.cookies.operator, asked.cookies.session]));
}

/** Refuses a foreign origin. Browsers send the origin of the page; other clients send none. */
function refuseForeign({ settings }: Pick<PagesContext, 'settings'>, request: IncomingMessage): Refusal | null {
  const { origin } = request.headers;
  if (origin === undefined || settings.origins.has(origin)) return null;
  return refusePage('csrf', 'the request does not come from the pages of this dashboard', 'Origin');
}

/** Refuses a header that belongs to none of these cookies. */
function refuseCsrf(
  { sessions }: Pick<PagesContext, 'sessions'>,
  request: IncomingMessage,
  cookies: readonly (string | null)[],
): Refusal | null {
  const token = request.headers[CSRF_HEADER];
  const isOurs =
    typeof token === 'string' && cookies.some((cookie) => cookie !== null && sessions.isCsrfToken(cookie, token));
  return isOurs ? null : refusePage('csrf', `${CSRF_HEADER}: must be the csrfToken of GET /api/session`, CSRF_HEADER);
}
