import { hasKeyForm } from '@gateway/contracts/ids';
import { accountsFindOperator } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { OPERATOR_TOKEN_PREFIX, ROOT, type Operator } from '../domain/operator-access.js';
import type { Door } from '../ports.js';

/**
 * Who holds the presented token. Named operators are asked for each time, so that a deleted one is refused at once; a
 * token without the form of one is answered without asking anybody.
 */
export async function authenticate(
  { secrets, services }: Door,
  authorization: string | undefined,
): Promise<Operator | ManagementRefusal> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) {
    return refuse('invalid_operator_token', 'an operator token is needed: Authorization: Bearer <token>');
  }
  if (secrets.isRootToken(token)) return ROOT;
  if (hasKeyForm(token, [OPERATOR_TOKEN_PREFIX])) {
    const { operator } = await services.request(accountsFindOperator, { digests: secrets.digestsOf(token) });
    if (operator !== null) return operator;
  }
  return refuse('invalid_operator_token', 'the operator token is not valid');
}
