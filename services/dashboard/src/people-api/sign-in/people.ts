import { digestOfMailToken } from '@gateway/contracts/ids';
import {
  accountsBeginSignIn,
  accountsChangePassword,
  accountsFindMailToken,
  accountsRequestReset,
  accountsResendVerification,
  accountsSignUp,
  accountsUseMailToken,
  type MailTokenKind,
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
import { busy, isPageRefusal, refusePage, tooManyAttempts, type PageRefusal } from '../refusals.js';
import { findSession } from './identify.js';
import { openRoute, userRoute, type PageContext, type PageHandled } from '../route.js';
import { enter } from './session.js';

const ACCEPTED = { status: 202, body: {} } as const;
const TOKEN_INVALID = refusePage('token_invalid', 'the link is not valid any more; ask for another mail', 'token');

export const PEOPLE_ROUTES = [
  openRoute({
    id: 'getConfig',
    method: 'GET',
    path: '/config',
    handle: ({ door }) => Promise.resolve({ status: 200, body: door.settings.config }),
  }),
  openRoute({
    id: 'signUp',
    method: 'POST',
    path: '/sign-up',
    body: signUp,
    async handle({ door, origin, body }): Promise<PageHandled> {
      if (!door.settings.config.signUpEnabled) return refusePage('forbidden', 'this deployment takes no sign-ups');
      return answerAccepted(await door.services.request(accountsSignUp, { ...body, ...origin }));
    },
  }),
  openRoute({
    id: 'verifyEmail',
    method: 'POST',
    path: '/verify-email',
    body: verifyEmail,
    handle: (request) => setFirstPassword(request, 'verify', request.body),
  }),
  openRoute({
    id: 'resendVerification',
    method: 'POST',
    path: '/resend-verification',
    body: resendVerification,
    handle: async ({ door, origin, body }) =>
      answerAccepted(await door.services.request(accountsResendVerification, { email: body.email, ...origin })),
  }),
  openRoute({
    id: 'forgotPassword',
    method: 'POST',
    path: '/forgot-password',
    body: forgotPassword,
    handle: async ({ door, origin, body }) =>
      answerAccepted(await door.services.request(accountsRequestReset, { email: body.email, ...origin })),
  }),
  openRoute({
    id: 'resetPassword',
    method: 'POST',
    path: '/reset-password',
    body: resetPassword,
    async handle(request): Promise<PageHandled> {
      const used = await setPassword(request, 'reset', request.body);
      return isPageRefusal(used) ? used : { status: 200, body: { email: used.email } };
    },
  }),
  openRoute({
    id: 'acceptInvitation',
    method: 'POST',
    path: '/accept-invitation',
    body: acceptInvitation,
    handle: (request) => setFirstPassword(request, 'invitation', request.body),
  }),
  userRoute({
    id: 'changePassword',
    method: 'POST',
    path: '/change-password',
    body: changePassword,
    async handle({ door, client, origin, cookies, session, actor, body }): Promise<PageHandled> {
      // Counted as a sign-in is: whoever found an open session cannot guess the password with it.
      const begun = await door.services.request(accountsBeginSignIn, { email: session.user.email, client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const comparedHash = begun.user?.passwordHash ?? null;
      const isRight = await door.passwords.isRight(body.oldPassword, comparedHash, client);
      if (isRight === 'busy') return busy();
      if (!isRight || comparedHash === null) {
        door.access.refused({ action: 'sign_in_refused', actor, objectId: session.user.id, origin });
        return oldPasswordWrong();
      }
      const newHash = await door.passwords.hash(body.newPassword, client);
      if (newHash === 'busy') return busy();
      const digests = door.sessions.digestsOf(cookies.session ?? '');
      const question = { user: session.user.id, comparedHash, newHash, digests, ...origin };
      const { changed } = await door.services.request(accountsChangePassword, question);
      return changed ? { status: 204 } : oldPasswordWrong();
    },
  }),
];

function oldPasswordWrong(): PageRefusal {
  return refusePage('invalid_credentials', 'the old password is not right', 'oldPassword');
}

/**
 * Sets a password by a mail's link. The token is looked up before the password is hashed for it: hashing is dear. `session`: the
 * digest of one that begins with it.
 */
async function setPassword(
  { door, client, origin }: PageContext,
  kind: MailTokenKind,
  { token, password }: { readonly token: string; readonly password: string },
  session?: string,
): Promise<{ readonly email: string } | PageRefusal> {
  const digest = digestOfMailToken(token);
  const found = await door.services.request(accountsFindMailToken, { kind, digest, client });
  if (found.kind === 'throttled') return tooManyAttempts(found.retryAfterSeconds);
  if (found.kind === 'token_invalid') return TOKEN_INVALID;
  const passwordHash = await door.passwords.hash(password, client);
  if (passwordHash === 'busy') return busy();
  const use = { kind, digest, passwordHash, ...(session === undefined ? {} : { session }), ...origin };
  const used = await door.services.request(accountsUseMailToken, use);
  if (used.kind === 'throttled') return tooManyAttempts(used.retryAfterSeconds);
  return used.kind === 'used' ? used : TOKEN_INVALID;
}

/** Sets the first password of somebody, who is signed in with it. */
async function setFirstPassword(
  context: PageContext,
  kind: Exclude<MailTokenKind, 'reset'>,
  body: { readonly token: string; readonly password: string },
): Promise<PageHandled> {
  const { sessions } = context.door;
  const cookie = sessions.makeSession();
  const used = await setPassword(context, kind, body, sessions.digestsOf(cookie)[0]);
  if (isPageRefusal(used)) return used;
  const people = await findSession(context.door, cookie);
  return people === null ? refusePage('not_signed_in', 'the password is set; sign in') : enter(context, people, cookie);
}

function answerAccepted(
  answer: { readonly kind: 'accepted' } | { readonly kind: 'throttled'; readonly retryAfterSeconds: number },
): PageHandled {
  return answer.kind === 'throttled' ? tooManyAttempts(answer.retryAfterSeconds) : ACCEPTED;
}
