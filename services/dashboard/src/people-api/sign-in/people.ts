import { digestOfMailToken } from '@gateway/contracts/ids';
import {
  type MailTokenKind,
  accountsBeginSignIn,
  accountsChangePassword,
  accountsFindMailToken,
  accountsRequestReset,
  accountsResendVerification,
  accountsSignUp,
  accountsUseMailToken,
} from '@gateway/contracts/messages';
import {
  acceptInvitation,
  changePassword,
  forgotPassword,
  resendVerification,
  resetPassword,
  signUp,
  verifyEmail,
} from '@gateway/contracts/pages';
import { type Refusal, isRouteRefusal } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import { type PageRequest, busy, defineRoute, refusePage, tooManyAttempts } from '../route.js';
import { findSession } from './identify.js';
import { respondWithSession } from './session.js';

const ACCEPTED = { status: 202, body: {} } as const;
const TOKEN_INVALID = refusePage('token_invalid', 'the link is no longer valid; request another email', 'token');

export const PEOPLE_ROUTES = [
  defineRoute({
    id: 'getConfig',
    access: 'anyone',
    method: 'GET',
    path: '/config',
    handle: ({ settings }) => Promise.resolve({ status: 200, body: settings.config }),
  }),
  defineRoute({
    id: 'signUp',
    access: 'anyone',
    method: 'POST',
    path: '/sign-up',
    body: signUp,
    async handle({ services, settings, origin, body }): Promise<RouteResult> {
      if (!settings.config.signUpEnabled)
        return refusePage('forbidden', 'sign-up is disabled on this deployment; ask the operator for an account');
      return answerAccepted(await services.request(accountsSignUp, { ...body, origin }));
    },
  }),
  defineRoute({
    id: 'verifyEmail',
    access: 'anyone',
    method: 'POST',
    path: '/verify-email',
    body: verifyEmail,
    handle: (request) => setFirstPassword(request, 'verify', request.body),
  }),
  defineRoute({
    id: 'resendVerification',
    access: 'anyone',
    method: 'POST',
    path: '/resend-verification',
    body: resendVerification,
    handle: async ({ services, origin, body }) =>
      answerAccepted(await services.request(accountsResendVerification, { email: body.email, origin })),
  }),
  defineRoute({
    id: 'forgotPassword',
    access: 'anyone',
    method: 'POST',
    path: '/forgot-password',
    body: forgotPassword,
    handle: async ({ services, origin, body }) =>
      answerAccepted(await services.request(accountsRequestReset, { email: body.email, origin })),
  }),
  defineRoute({
    id: 'resetPassword',
    access: 'anyone',
    method: 'POST',
    path: '/reset-password',
    body: resetPassword,
    async handle(request): Promise<RouteResult> {
      const used = await setPassword(request, 'reset', request.body);
      return isRouteRefusal(used) ? used : { status: 200, body: { email: used.email } };
    },
  }),
  defineRoute({
    id: 'acceptInvitation',
    access: 'anyone',
    method: 'POST',
    path: '/accept-invitation',
    body: acceptInvitation,
    handle: (request) => setFirstPassword(request, 'invitation', request.body),
  }),
  defineRoute({
    id: 'changePassword',
    access: 'user',
    method: 'POST',
    path: '/change-password',
    body: changePassword,
    async handle(request): Promise<RouteResult> {
      const { services, access, sessions, passwords, client, origin, cookies, session, author, body } = request;
      // Counted like a sign-in, so that a person who finds an open session cannot guess the
      // password.
      const begun = await services.request(accountsBeginSignIn, { email: session.user.email, client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const comparedHash = begun.user?.passwordHash ?? null;
      const isRight = await passwords.isRight(body.oldPassword, comparedHash, client);
      if (isRight === 'busy') return busy();
      if (!isRight || comparedHash === null) {
        access.refused({ action: 'sign_in_refused', ...author, objectId: session.user.id });
        return oldPasswordWrong();
      }
      const newHash = await passwords.hash(body.newPassword, client);
      if (newHash === 'busy') return busy();
      const digests = sessions.digestsOf(cookies.session ?? '');
      const question = { user: session.user.id, comparedHash, newHash, digests, origin };
      const { changed } = await services.request(accountsChangePassword, question);
      return changed ? { status: 204 } : oldPasswordWrong();
    },
  }),
];

function oldPasswordWrong(): Refusal {
  return refusePage('invalid_credentials', 'the old password is incorrect', 'oldPassword');
}

/**
 * Sets a password with the token of an email link. The token is looked up before the password is
 * hashed, because hashing is expensive. `session`: digest of a session that begins at the same
 * time.
 */
async function setPassword(
  { services, passwords, client, origin }: PageRequest,
  kind: MailTokenKind,
  { token, password }: { readonly token: string; readonly password: string },
  session?: string,
): Promise<{ readonly email: string } | Refusal> {
  const digest = digestOfMailToken(token);
  const found = await services.request(accountsFindMailToken, { kind, digest, client });
  if (found.kind === 'throttled') return tooManyAttempts(found.retryAfterSeconds);
  if (found.kind === 'token_invalid') return TOKEN_INVALID;
  const passwordHash = await passwords.hash(password, client);
  if (passwordHash === 'busy') return busy();
  const use = { kind, digest, passwordHash, ...(session === undefined ? {} : { session }), origin };
  const used = await services.request(accountsUseMailToken, use);
  if (used.kind === 'throttled') return tooManyAttempts(used.retryAfterSeconds);
  return used.kind === 'used' ? used : TOKEN_INVALID;
}

/** Sets a person's first password and signs them in. */
async function setFirstPassword(
  request: PageRequest,
  kind: Exclude<MailTokenKind, 'reset'>,
  body: { readonly token: string; readonly password: string },
): Promise<RouteResult> {
  const cookie = request.sessions.makeSession();
  const used = await setPassword(request, kind, body, request.sessions.digestsOf(cookie)[0]);
  if (isRouteRefusal(used)) return used;
  const people = await findSession(request, cookie);
  return people === null
    ? refusePage('not_signed_in', 'the password is set; sign in')
    : respondWithSession(request, people, cookie);
}

function answerAccepted(
  answer: { readonly kind: 'accepted' } | { readonly kind: 'throttled'; readonly retryAfterSeconds: number },
): RouteResult {
  return answer.kind === 'throttled' ? tooManyAttempts(answer.retryAfterSeconds) : ACCEPTED;
}
