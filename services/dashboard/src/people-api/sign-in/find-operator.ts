import { accountsFindOperatorSession } from '@gateway/contracts/messages';
import { ROOT, type Operator } from '../../operator-api/access.js';
import type { PageContext } from '../route.js';
import { isSessionForm } from './session-form.js';

/** The operator of the cookie; asked each time, so that a sign-out, a deleted operator and a new root token hold at once. */
export async function findOperator({ door, cookies }: Pick<PageContext, 'door' | 'cookies'>): Promise<Operator | null> {
  const cookie = cookies.operator;
  if (!door.settings.config.operatorsEnabled || cookie === null || !isSessionForm(cookie)) return null;
  const digests = door.sessions.operatorDigestsOf(cookie);
  const rootDigests = door.secrets.rootDigests();
  const { holder } = await door.services.request(accountsFindOperatorSession, { digests, rootDigests });
  return holder === 'root' ? ROOT : holder;
}
