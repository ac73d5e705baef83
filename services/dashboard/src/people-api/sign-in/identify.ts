import {
  accountsFindOperatorSession,
  accountsFindSession,
  objectId,
  type PeopleSession,
  type CommandAuthor,
} from '@gateway/contracts/messages';
import type { SessionAccount } from '@gateway/contracts/pages';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Refusal } from '../../http/refusals.js';
import { ROOT, type Operator } from '../../operator-api/access.js';
import { refusePage } from '../refusals.js';
import type { PageRequest, PageRoute, PagesContext } from '../route.js';

const CSRF_HEADER = 'x-csrf-token';
/** Of a cookie's value that can be one of ours: others are answered without asking anybody. */
const SESSION_FORM = /^[A-Za-z0-9_-]{43}$/;

export interface Identified {
  readonly session: PeopleSession;
  readonly author: CommandAuthor;
  readonly account: SessionAccount;
  readonly operator: Operator;
}

/**
 * The session of a cookie that has the form of one; asked each time, so that a sign-out holds at
 * once.
 */
export async function findSession(
  { sessions, services }: Pick<PagesContext, 'sessions' | 'services'>,
  cookie: string | null,
): Promise<PeopleSession | null> {
  if (cookie === null || !SESSION_FORM.test(cookie)) return null;
  const digests = sessions.digestsOf(cookie);
  return (await services.request(accountsFindSession, { digests })).session;
}

/**
 * The operator of the cookie; asked each time, so that a sign-out, a deleted operator and a new
 * root token hold at once.
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
 * Who asks, whether the request comes from our own pages, and whether the account is theirs: in
 * this order, so that a foreign page learns nothing, and an id of somebody else's account is not
 * known.
 */
export async function identify(
  asked: PageRequest,
  route: PageRoute,
  request: Request,
): Promise<Partial<Identified> | Refusal> {
  const { access, cookies, origin } = asked;
  const foreign = route.method === 'GET' ? null : refuseForeign(asked, request);
  if (foreign !== null || route.access === 'anyone') return foreign ?? {};
  if (route.access === 'operator') {
    const operator = await findOperator(asked);
    return refuseNoOperator(asked, operator, request) ?? (operator === null ? {} : { operator });
  }
  const session = await findSession(asked, cookies.session);
  if (session === null) return refusePage('not_signed_in', 'sign in first');
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

/** Whether an operator's session is there, and the request comes with its token. */
export function refuseNoOperator(
  asked: Pick<PageRequest, 'settings' | 'sessions' | 'cookies'>,
  operator: Operator | null,
  request: IncomingMessage,
): Refusal | null {
  if (operator === null) return refusePage('not_signed_in', 'sign in as an operator first');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  return isRead
    ? null
    : (refuseForeign(asked, request) ?? refuseCsrf(asked, request, [asked.cookies.operator, asked.cookies.session]));
}

/** A browser names the page that sends a request; other clients name none. */
function refuseForeign({ settings }: Pick<PagesContext, 'settings'>, request: IncomingMessage): Refusal | null {
  const { origin } = request.headers;
  if (origin === undefined || settings.origins.has(origin)) return null;
  return refusePage('csrf', 'the request does not come from the pages of this dashboard', 'Origin');
}

/** The header must belong to one of these cookies. */
function refuseCsrf(
  { sessions }: Pick<PagesContext, 'sessions'>,
  request: IncomingMessage,
  cookies: readonly (string | null)[],
): Refusal | null {
  const token = request.headers[CSRF_HEADER];
  const isOurs =
    typeof token === 'string' && cookies.some((cookie) => cookie !== null && sessions.isCsrfToken(cookie, token));
  return isOurs ? null : refusePage('csrf', `${CSRF_HEADER}: not the one that GET /api/session answers`, CSRF_HEADER);
}
