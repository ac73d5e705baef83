import { accountsCreateOperatorSession, accountsEndOperatorSession } from '@gateway/contracts/messages';
import { operatorSignIn } from '@gateway/contracts/pages';
import { UNAUTHENTICATED, UNKNOWN } from '../../access-log.js';
import { isRouteRefusal } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import { ROOT, formatActor } from '../../operator-api/access.js';
import { authenticate } from '../../operator-api/authenticate.js';
import { type PageRequest, defineRoute, refusePage } from '../route.js';
import { setCookie } from './cookies.js';
import { findSession } from './identify.js';
import { buildSession } from './session.js';

/** The longest duration of a session. */
const COOKIE_SECONDS = 8 * 3_600;

/** Routes for operators on the pages, if operators may sign in there. */
export const OPERATOR_SESSION_ROUTES = [
  defineRoute({
    id: 'operatorSignIn',
    access: 'anyone',
    method: 'POST',
    path: '/operator/sign-in',
    body: operatorSignIn,
    async handle(request): Promise<RouteResult> {
      const { services, secrets, access, sessions, settings, client, cookies, origin, body } = request;
      const operator = await authenticate(request, `Bearer ${body.token}`, client);
      if (isRouteRefusal(operator)) {
        access.refused({ action: 'operator_token_refused', actor: UNAUTHENTICATED, objectId: UNKNOWN, origin });
        return operator;
      }
      const [rootDigest = ''] = secrets.digestsOf(body.token);
      const cookie = sessions.makeSession();
      const { created } = await services.request(accountsCreateOperatorSession, {
        digest: sessions.operatorDigestsOf(cookie)[0] ?? '',
        holder: operator === ROOT ? { kind: 'root', rootDigest } : { kind: 'named', operator: operator.id },
      });
      if (!created) return refusePage('invalid_operator_token', 'the operator token is invalid');
      await access.noted({ action: 'operator_sign_in', actor: formatActor(operator), objectId: operator.id, origin });
      // End an existing session, so that one planted by another person cannot continue.
      await endSession(request);
      const session = await findSession(request, cookies.session);
      const bound = session === null ? cookie : (cookies.session ?? cookie);
      const view = buildSession(request, session, { name: operator.name, role: operator.role }, bound);
      return { status: 200, body: view, cookies: [setCookie('operator', cookie, COOKIE_SECONDS, settings)] };
    },
  }),
  defineRoute({
    id: 'operatorSignOut',
    access: 'operator',
    method: 'POST',
    path: '/operator/sign-out',
    async handle(request) {
      const { access, settings, operator, origin } = request;
      await access.noted({ action: 'operator_sign_out', actor: formatActor(operator), objectId: operator.id, origin });
      await endSession(request);
      return { status: 204, cookies: [setCookie('operator', '', 0, settings)] };
    },
  }),
];

async function endSession({ services, sessions, cookies }: PageRequest): Promise<void> {
  if (cookies.operator === null) return;
  const digests = sessions.operatorDigestsOf(cookies.operator);
  await services.request(accountsEndOperatorSession, { digests });
}
