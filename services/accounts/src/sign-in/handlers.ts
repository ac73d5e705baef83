import {
  accountsBeginSignIn,
  accountsChangePassword,
  accountsCreateSession,
  accountsEndSession,
  accountsFindMailToken,
  accountsFindSession,
  accountsRequestReset,
  accountsResendVerification,
  accountsSignUp,
  accountsUseMailToken,
} from '@gateway/contracts/messages';
import type { Handlers } from '../base/serve.js';
import type { SignInStore } from './store.js';
import { findMailToken, requestReset, resendVerification, useMailToken } from './mail-links.js';
import { beginSignIn, changePassword } from './passwords.js';
import { createSession, endSession, findSession } from './sessions.js';
import { signUp } from './sign-up.js';

/** Registers the handlers of sign-up and sign-in requests. */
export function serveSignIn(
  { lookup, change }: Handlers,
  deps: { readonly store: SignInStore; readonly nowMs: () => number },
): void {
  lookup(accountsFindSession, (body) => findSession(deps, body));
  change(accountsSignUp, (body) => signUp(deps, body));
  change(accountsBeginSignIn, (body) => beginSignIn(deps, body));
  change(accountsCreateSession, (body) => createSession(deps, body));
  change(accountsEndSession, (body) => endSession(deps.store, body));
  change(accountsRequestReset, (body) => requestReset(deps, body));
  change(accountsResendVerification, (body) => resendVerification(deps, body));
  change(accountsFindMailToken, (body) => findMailToken(deps, body));
  change(accountsUseMailToken, (body) => useMailToken(deps, body));
  change(accountsChangePassword, (body) => changePassword(deps, body));
}
