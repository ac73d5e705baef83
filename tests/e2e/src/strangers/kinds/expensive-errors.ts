import { repeatRequests } from '../repeat-requests.js';
import type { StartAttack } from '../attack.js';
import { REPEAT } from '../repeating-provider.js';
import { CHAT } from '../request-heads.js';

const AT_ONCE = 40;
const EVERY_MS = 100;
/** As much as of a provider's message is looked at. */
const SPACES = 3_980;

/**
 * Calls whose text a provider repeats in its error: long runs of spaces behind words that are
 * looked for when it is cleaned.
 */
export const expensiveErrors: StartAttack = ({ edgePort, secret, modelId }, bounds) => {
  const content = `${REPEAT}organization${' '.repeat(SPACES)}!`;
  const body = JSON.stringify({ model: modelId, messages: [{ role: 'user', content }] });
  const headers = { authorization: `Bearer ${secret}` };
  const question = () => ({ port: edgePort, method: 'POST' as const, path: CHAT, headers, body });
  return repeatRequests({ atOnce: AT_ONCE, everyMs: EVERY_MS, question }, bounds);
};
