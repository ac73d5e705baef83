import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  accountsEnsurePlaygroundKey,
  admissionUsage,
  type AnswerOf,
  type CommandAuthor,
} from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal } from '@gateway/contracts/operator';
import type { SessionAccount } from '@gateway/contracts/pages';
import type { PlaygroundOwner } from '../sign-in/session-secrets.js';
import type { AccountRequest, PagesContext } from '../route.js';

export type DecidingState = Extract<AnswerOf<typeof admissionUsage>, { kind: 'usage' }>;

/** Creates the member's playground key, or updates it after a rotation of the session secret. */
export async function ensurePlaygroundKey(
  { services, sessions }: Pick<PagesContext, 'services' | 'sessions'>,
  owner: PlaygroundOwner,
  author: CommandAuthor,
): Promise<ManagementRefusal | null> {
  const digest = sessions.playgroundKey(owner).digests[0] ?? '';
  const ensured = await services.request(accountsEnsurePlaygroundKey, { ...owner, digest, author });
  return isRefusal(ensured) ? ensured : null;
}

/**
 * Returns the state by which admission would decide the member's next request. The query uses their
 * playground key, which is created if it does not exist yet. Null: the state cannot be read, for
 * example because the account is suspended.
 */
export async function decidingState(request: AccountRequest): Promise<DecidingState | null> {
  const { services, clock, sessions, account, author } = request;
  const owner = playgroundOwner(account);
  const digests = [...sessions.playgroundKey(owner).digests];
  const ask = () => services.request(admissionUsage, { id: makeUuidV7(clock.nowMs()), digests });
  const first = await ask();
  const isUnknown = first.kind === 'refused' && first.code === 'invalid_api_key';
  if (!isUnknown) return first.kind === 'usage' ? first : null;
  if ((await ensurePlaygroundKey(request, owner, author)) !== null) return null;
  const second = await ask();
  return second.kind === 'usage' ? second : null;
}

/** Returns the owner of the member's playground key. */
export function playgroundOwner({ id, memberId }: SessionAccount): PlaygroundOwner {
  return { account: id, member: memberId };
}
