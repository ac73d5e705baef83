import { randomBytes } from 'node:crypto';
import { makeSecret, SECRET_BODY_CHARS } from '@gateway/contracts/ids';
import { repeatRequests } from '../repeat-requests.js';
import type { StartAttack } from '../attack.js';
import { CHAT } from '../request-heads.js';

const AT_ONCE = 600;
const EVERY_MS = 500;
const PREFIX = 'mgw_live_';
const CHECKSUM_BYTES = 4;

/** Unknown keys, each one different. Every other key has a valid checksum. */
export const inventedKeys: StartAttack = ({ edgePort, modelId }, bounds) => {
  const body = JSON.stringify({ model: modelId, messages: [{ role: 'user', content: 'Hello.' }] });
  const question = (n: number) => ({
    port: edgePort,
    method: 'POST' as const,
    path: CHAT,
    headers: { authorization: `Bearer ${n % 2 === 0 ? makeSecret(PREFIX) : unchecked()}` },
    body,
  });
  return repeatRequests({ atOnce: AT_ONCE, everyMs: EVERY_MS, question }, bounds);
};

function unchecked(): string {
  return PREFIX + randomBytes(SECRET_BODY_CHARS / 2 + CHECKSUM_BYTES).toString('hex');
}
