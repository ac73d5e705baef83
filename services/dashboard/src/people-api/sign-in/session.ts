import {
  accountsBeginSignIn,
  accountsCreateSession,
  accountsEndSession,
  type PeopleSession,
} from '@gateway/contracts/messages';
import { signIn, type OperatorSession, type PageSession } from '@gateway/contracts/pages';
import { STRANGER, UNKNOWN } from '../../access-log.js';
import { setCookie } from './cookies.js';
import { busy, refusePage, tooManyAttempts } from '../refusals.js';
import { findOperator } from './find-operator.js';
import { findSession } from './identify.js';
import { openRoute, userRoute, type PageContext, type PageHandled } from '../route.js';

const SESSION_COOKIE_SECONDS = 30 * 86_400;

/** The session as the pages see it. `user` null: nobody but perhaps an operator. */
export function viewOf(
  { door }: PageContext,
  session: PeopleSession | null,
  operator: OperatorSession | null,
  cookie: string,
): PageSession {
  return {
    user: session && session.user,
    csrfToken: door.sessions.csrfTokenOf(cookie),
    accounts: session?.accounts ?? [],
    operator,
  };
}

async function operatorOf(context: PageContext): Promise<OperatorSession | null> {
  const operator = await findOperator(context);
  return operator && { name: operator.name, role: operator.role };
}

export const SESSION_ROUTES = [
  openRoute({
    id: 'getSession',
    method: 'GET',
    path: '/session',
    async handle(context) {
      const { door, cookies } = context;
      const [session, operator] = await Promise.all([findSession(door, cookies.session), operatorOf(context)]);
      const cookie = session === null ? cookies.operator : cookies.session;
      if (cookie === null || (session === null && operator === null)) {
        return refusePage('not_signed_in', 'nobody is signed in');
      }
      return { status: 200, body: viewOf(context, session, operator, cookie) };
    },
  }),
  openRoute({
    id: 'signIn',
    method: 'POST',
    path: '/sign-in',
    body: signIn,
    async handle(context): Promise<PageHandled> {
      const { door, client, origin, body } = context;
      const begun = await door.services.request(accountsBeginSignIn, { email: body.email, client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const isRight = await door.passwords.isRight(body.password, begun.user?.passwordHash ?? null, client);
      if (isRight === 'busy') return busy();
      const session = begun.user && isRight ? await createSession(context, begun.user, body.password) : null;
      if (session === null) {
        const about = begun.user === null ? UNKNOWN : begun.user.id;
        door.access.refused({ action: 'sign_in_refused', actor: STRANGER, objectId: about, origin });
        return refusePage('invalid_credentials', 'address and password do not belong together');
      }
      return enter(context, session.people, session.cookie);
    },
  }),
  signOutRoute('signOut', '/sign-out', false),
  signOutRoute('signOutEverywhere', '/sign-out-everywhere', true),
];

function signOutRoute(id: string, path: string, everywhere: boolean) {
  return userRoute({
    id,
    method: 'POST',
    path,
    async handle(context): Promise<PageHandled> {
      const { door } = context;
      await endSession(context, everywhere);
      return { status: 204, cookies: [setCookie('session', '', 0, door.settings)] };
    },
  });
}

/** Answers with a session that has just begun. Nobody goes on with what was there before, whoever put it there. */
export async function enter(context: PageContext, people: PeopleSession, value: string): Promise<PageHandled> {
  if (context.cookies.session !== null) await endSession(context, false);
  const operator = await operatorOf(context);
  const cookie = setCookie('session', value, SESSION_COOKIE_SECONDS, context.door.settings);
  return { status: 200, body: viewOf(context, people, operator, value), cookies: [cookie] };
}

async function endSession({ door, cookies, origin }: PageContext, everywhere: boolean): Promise<void> {
  const digests = door.sessions.digestsOf(cookies.session ?? '');
  await door.services.request(accountsEndSession, { digests, everywhere, ...origin });
}

/** A new value for a new session; null: the password was changed at this moment. */
async function createSession(
  { door, client, origin }: PageContext,
  { id, passwordHash }: { readonly id: string; readonly passwordHash: string },
  password: string,
): Promise<{ readonly people: PeopleSession; readonly cookie: string } | null> {
  const renewed = door.passwords.isOutdated(passwordHash) ? await door.passwords.hash(password, client) : null;
  const cookie = door.sessions.makeSession();
  const { session } = await door.services.request(accountsCreateSession, {
    user: id,
    comparedHash: passwordHash,
    ...(renewed === null || renewed === 'busy' ? {} : { newHash: renewed }),
    digest: door.sessions.digestsOf(cookie)[0] ?? '',
    ...origin,
  });
  return session && { people: session, cookie };
}
