import { makeUuidV7 } from '@gateway/contracts/ids';
import { accountsEnsurePlaygroundKey, admissionUsage, type AnswerOf } from '@gateway/contracts/messages';
import type { ManagementRefusal } from '@gateway/contracts/operator';
import { isRefusal } from '../domain/refuse.js';
import type { PagesDoor } from '../page-ports.js';

export type DecidingState = Extract<AnswerOf<typeof admissionUsage>, { kind: 'usage' }>;

/** Row 4 of the order of refusals: no key has this secret. */
const UNKNOWN_KEY_ROW = 4;

/** Makes the account's playground key, or gives it the secret that it has under today's session secret. */
export async function ensurePlaygroundKey(
  door: PagesDoor,
  account: string,
  actor: string,
): Promise<ManagementRefusal | null> {
  const digest = door.sessions.playgroundKey(account).digests[0] ?? '';
  const ensured = await door.services.request(accountsEnsurePlaygroundKey, { account, digest, actor });
  return isRefusal(ensured) ? ensured : null;
}

/**
 * The state under which the account's next call would be decided, asked with its playground key, which is made when it is first
 * needed. Null: it cannot be read, as when the account is suspended.
 */
export async function decidingState(door: PagesDoor, account: string, actor: string): Promise<DecidingState | null> {
  const digests = [...door.sessions.playgroundKey(account).digests];
  const ask = () => door.services.request(admissionUsage, { id: makeUuidV7(door.clock.nowMs()), digests });
  const first = await ask();
  const isUnknown = first.kind === 'refused' && first.row === UNKNOWN_KEY_ROW;
  if (!isUnknown) return first.kind === 'usage' ? first : null;
  if ((await ensurePlaygroundKey(door, account, actor)) !== null) return null;
  const second = await ask();
  return second.kind === 'usage' ? second : null;
}
