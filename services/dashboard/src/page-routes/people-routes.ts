import { digestOfMailToken } from '@gateway/contracts/ids';
import {
  accountsBeginSignIn,
  accountsBeginSignUp,
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
  resetPassword,
  signUp,
  verifyEmail,
} from '@gateway/contracts/pages';
import { busy, refusePage, tooManyAttempts, type PageRefusal } from '../domain/page-refusal.js';
import { openRoute, userRoute, type PageContext, type PageHandled } from '../pages/page-route.js';

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
    async handle({ door, client, body }): Promise<PageHandled> {
      if (!door.settings.config.signUpEnabled) return refusePage('forbidden', 'this deployment takes no sign-ups');
      // Counted before a password is hashed for it: hashing is dear.
      const begun = await door.services.request(accountsBeginSignUp, { client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const passwordHash = await door.passwords.hash(body.password, client);
      if (passwordHash === 'busy') return busy();
      const { name, email } = body;
      await door.services.request(accountsSignUp, { name, email, passwordHash });
      return ACCEPTED;
    },
  }),
  openRoute({
    id: 'verifyEmail',
    method: 'POST',
    path: '/verify-email',
    body: verifyEmail,
    async handle({ door, client, body }): Promise<PageHandled> {
      const question = { kind: 'verify', digest: digestOfMailToken(body.token), client } as const;
      return answerUsed(await door.services.request(accountsUseMailToken, question));
    },
  }),
  userRoute({
    id: 'resendVerification',
    method: 'POST',
    path: '/resend-verification',
    async handle({ door, session }) {
      await door.services.request(accountsResendVerification, { user: session.user.id });
      return ACCEPTED;
    },
  }),
  openRoute({
    id: 'forgotPassword',
    method: 'POST',
    path: '/forgot-password',
    body: forgotPassword,
    async handle({ door, client, body }): Promise<PageHandled> {
      const answer = await door.services.request(accountsRequestReset, { email: body.email, client });
      return answer.kind === 'throttled' ? tooManyAttempts(answer.retryAfterSeconds) : ACCEPTED;
    },
  }),
  openRoute({
    id: 'resetPassword',
    method: 'POST',
    path: '/reset-password',
    body: resetPassword,
    handle: (request) => setPassword(request, 'reset', request.body),
  }),
  openRoute({
    id: 'acceptInvitation',
    method: 'POST',
    path: '/accept-invitation',
    body: acceptInvitation,
    handle: (request) => setPassword(request, 'invitation', request.body),
  }),
  userRoute({
    id: 'changePassword',
    method: 'POST',
    path: '/change-password',
    body: changePassword,
    async handle({ door, client, cookies, session, body }): Promise<PageHandled> {
      // Counted as a sign-in is: whoever found an open session cannot guess the password with it.
      const begun = await door.services.request(accountsBeginSignIn, { email: session.user.email, client });
      if (begun.kind === 'throttled') return tooManyAttempts(begun.retryAfterSeconds);
      const comparedHash = begun.user?.passwordHash ?? null;
      const isRight = await door.passwords.isRight(body.oldPassword, comparedHash, client);
      if (isRight === 'busy') return busy();
      if (!isRight || comparedHash === null) return oldPasswordWrong();
      const newHash = await door.passwords.hash(body.newPassword, client);
      if (newHash === 'busy') return busy();
      const digests = door.sessions.digestsOf(cookies.session ?? '');
      const question = { user: session.user.id, comparedHash, newHash, digests, client };
      const { changed } = await door.services.request(accountsChangePassword, question);
      return changed ? { status: 204 } : oldPasswordWrong();
    },
  }),
];

function oldPasswordWrong(): PageRefusal {
  return refusePage('invalid_credentials', 'the old password is not right', 'oldPassword');
}

/** The token is looked up before a password is hashed for it: hashing is dear. */
async function setPassword(
  { door, client }: PageContext,
  kind: Exclude<MailTokenKind, 'verify'>,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<PageHandled> {
  const digest = digestOfMailToken(token);
  const found = await door.services.request(accountsFindMailToken, { kind, digest, client });
  if (found.kind === 'throttled') return tooManyAttempts(found.retryAfterSeconds);
  if (found.kind === 'token_invalid') return TOKEN_INVALID;
  const passwordHash = await door.passwords.hash(password, client);
  if (passwordHash === 'busy') return busy();
  return answerUsed(await door.services.request(accountsUseMailToken, { kind, digest, passwordHash, client }));
}

function answerUsed(
  answer:
    | { readonly kind: 'used'; readonly email: string }
    | { readonly kind: 'token_invalid' }
    | { readonly kind: 'throttled'; readonly retryAfterSeconds: number },
): PageHandled {
  switch (answer.kind) {
    case 'used':
      return { status: 200, body: { email: answer.email } };
    case 'token_invalid':
      return TOKEN_INVALID;
    case 'throttled':
      return tooManyAttempts(answer.retryAfterSeconds);
  }
}
