import {
  type PeopleSession,
  accountsBeginSignIn,
  accountsCreateSession,
  accountsEndSession,
} from '@gateway/contracts/messages';
import { type OperatorSession, type PageSession, signIn } from '@gateway/contracts/pages';
import { UNAUTHENTICATED, UNKNOWN } from '../../access-log.js';
import type { RouteResult } from '../../http/route.js';
import { type PageRequest, busy, defineRoute, refusePage, tooManyAttempts } from '../route.js';
import { setCookie } from './cookies.js';
import { findOperator, findSession } from './identify.js';

const SESSION_COOKIE_SECONDS = 30 * 86_400;

/** Builds the session for the pages. Without a `user`, an operator may be signed in. */
export function buildSession(
  { sessions }: PageRequest,
  session: PeopleSession | null,
  operator: OperatorSession | null,
  cookie: string,
): PageSession {
  return {
    user: session && session.user,
    csrfToken: sessions.csrfTokenOf(cookie),
    accounts: session?.accounts ?? [],
    operator,
  };
}

async function operatorOf(request: PageRequest): Promise<OperatorSession | null> {
  const operator = await findOperator(request);
  return operator && { name: operator.name, role: operator.role };
}

export const SESSION_ROUTES = [
  defineRoute({
    id: 'getSession',
    access: 'anyone',
    method: 'GET',
    path: '/session',
    async handle(request) {
      const { cookies } = request;
      const [session, operator] = await Promise.all([findSession(request, cookies.session), operatorOf(request)]);
      const cookie = session === null ? cookies.operator : cookies.session;
      if (cookie === null || (session === null && operator === null)) {
        return refusePage('not_signed_in', 'sign in to continue');
      }
      return { status: 200, body: buildSession(request, session, operator, cookie) };
    },
  }),
  defineRoute({
    id: 'signIn',
    access: 'anyone',
    method: 'POST',
    path: '/sign-in',
    body: signIn,
    async handle(request): Promise<RouteResult> {
      const { services, access, passwords, client, origin, body } = request;
      const begun = await services.request(accountsBeginSignIn, { email: body.email, client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const isRight = await passwords.isRight(body.password, begun.user?.passwordHash ?? null, client);
      if (isRight === 'busy') return busy();
      const session = begun.user && isRight ? await createSession(request, begun.user, body.password) : null;
      if (session === null) {
        const about = begun.user === null ? UNKNOWN : begun.user.id;
        access.refused({ action: 'sign_in_refused', actor: UNAUTHENTICATED, objectId: about, origin });
        return refusePage('invalid_credentials', 'email or password is incorrect');
      }
      return respondWithSession(request, session.people, session.cookie);
    },
  }),
  signOutRoute('signOut', '/sign-out', false),
  signOutRoute('signOutEverywhere', '/sign-out-everywhere', true),
];

function signOutRoute(id: string, path: string, everywhere: boolean) {
  return defineRoute({
    id,
    access: 'user',
    method: 'POST',
    path,
    async handle(request): Promise<RouteResult> {
      await endSession(request, everywhere);
      return { status: 204, cookies: [setCookie('session', '', 0, request.settings)] };
    },
  });
}

/** Responds with a new session and ends an existing one, which could have been planted. */
export async function respondWithSession(
  request: PageRequest,
  people: PeopleSession,
  value: string,
): Promise<RouteResult> {
  if (request.cookies.session !== null) await endSession(request, false);
  const operator = await operatorOf(request);
  const cookie = setCookie('session', value, SESSION_COOKIE_SECONDS, request.settings);
  return { status: 200, body: buildSession(request, people, operator, value), cookies: [cookie] };
}

async function endSession({ services, sessions, cookies, origin }: PageRequest, everywhere: boolean): Promise<void> {
  const digests = sessions.digestsOf(cookies.session ?? '');
  await services.request(accountsEndSession, { digests, everywhere, origin });
}

/** Creates a session. Returns null if the password was changed in the meantime. */
async function createSession(
  { services, sessions, passwords, client, origin }: PageRequest,
  { id, passwordHash }: { readonly id: string; readonly passwordHash: string },
  password: string,
): Promise<{ readonly people: PeopleSession; readonly cookie: string } | null> {
  const renewed = passwords.isOutdated(passwordHash) ? await passwords.hash(password, client) : null;
  const cookie = sessions.makeSession();
  const { session } = await services.request(accountsCreateSession, {
    user: id,
    comparedHash: passwordHash,
    ...(renewed === null || renewed === 'busy' ? {} : { newHash: renewed }),
    digest: sessions.digestsOf(cookie)[0] ?? '',
    origin,
  });
  return session && { people: session, cookie };
}
