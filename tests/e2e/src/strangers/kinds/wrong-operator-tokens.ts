import { randomBytes } from 'node:crypto';
import { repeatRequests } from '../repeat-requests.js';
import type { StartAttack } from '../attack.js';

const AT_ONCE = 300;
const EVERY_MS = 50;
const TOKEN_BYTES = 24;

/**
 * Unknown operator tokens, each one different: at the pages' sign-in, at the API of the pages, and
 * at the operator API.
 */
export const wrongOperatorTokens: StartAttack = ({ pagesPort, operatorPort }, bounds) => {
  const question = (n: number) => {
    const token = `mgw_op_${randomBytes(TOKEN_BYTES).toString('hex')}`;
    const headers = { authorization: `Bearer ${token}` };
    if (n % 3 === 0)
      return { port: operatorPort, method: 'GET' as const, path: '/operator/v1/accounts?limit=1', headers };
    if (n % 3 === 1)
      return { port: pagesPort, method: 'GET' as const, path: '/api/operator/v1/accounts?limit=1', headers };
    const body = JSON.stringify({ token });
    return { port: pagesPort, method: 'POST' as const, path: '/api/operator/sign-in', body };
  };
  return repeatRequests({ atOnce: AT_ONCE, everyMs: EVERY_MS, question }, bounds);
};
