import { accountsCreateOperatorSession, accountsEndOperatorSession } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { operatorSignIn } from '@gateway/contracts/pages';
import { STRANGER, UNKNOWN } from '../../access-log.js';
import { setCookie } from './cookies.js';
import { actorOf, ROOT } from '../../operator-api/access.js';
import { refusePage } from '../refusals.js';
import { authenticate } from '../../operator-api/authenticate.js';
import { findSession } from './identify.js';
import { openRoute, operatorRoute, type PageContext, type PageHandled } from '../route.js';
import { viewOf } from './session.js';

/** As long as the session lasts at most. */
const COOKIE_SECONDS = 8 * 3_600;

/** Rows for operators on the pages, where they are switched on. */
export const OPERATOR_SESSION_ROUTES = [
  openRoute({
    id: 'operatorSignIn',
    method: 'POST',
    path: '/operator/sign-in',
    body: operatorSignIn,
    async handle(context): Promise<PageHandled> {
      const { door, client, cookies, origin, body } = context;
      const operator = await authenticate(door, `Bearer ${body.token}`, client);
      if (isRefusal(operator)) {
        door.access.refused({ action: 'operator_token_refused', actor: STRANGER, objectId: UNKNOWN, origin });
        return operator;
      }
      const [rootDigest = ''] = door.secrets.digestsOf(body.token);
      const cookie = door.sessions.makeSession();
      const { created } = await door.services.request(accountsCreateOperatorSession, {
        digest: door.sessions.operatorDigestsOf(cookie)[0] ?? '',
        holder: operator === ROOT ? { kind: 'root', rootDigest } : { kind: 'named', operator: operator.id },
      });
      if (!created) return refusePage('invalid_operator_token', 'the operator token is not valid');
      await door.access.noted({ action: 'operator_sign_in', actor: actorOf(operator), objectId: operator.id, origin });
      // Nobody goes on with what was there before, whoever put it there.
      await endSession(context);
      const session = await findSession(door, cookies.session);
      const bound = session === null ? cookie : (cookies.session ?? cookie);
      const view = viewOf(context, session, { name: operator.name, role: operator.role }, bound);
      return { status: 200, body: view, cookies: [setCookie('operator', cookie, COOKIE_SECONDS, door.settings)] };
    },
  }),
  operatorRoute({
    id: 'operatorSignOut',
    method: 'POST',
    path: '/operator/sign-out',
    async handle(context) {
      const { door, operator, origin } = context;
      await door.access.noted({ action: 'operator_sign_out', actor: actorOf(operator), objectId: operator.id, origin });
      await endSession(context);
      return { status: 204, cookies: [setCookie('operator', '', 0, context.door.settings)] };
    },
  }),
];

async function endSession({ door, cookies }: PageContext): Promise<void> {
  if (cookies.operator === null) return;
  const digests = door.sessions.operatorDigestsOf(cookies.operator);
  await door.services.request(accountsEndOperatorSession, { digests });
}
