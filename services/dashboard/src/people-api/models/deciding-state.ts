import { REFUSAL } from '@gateway/contracts/errors';
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

/**
 * Makes the member's playground key, or gives it the secret that it has under today's session
 * secret.
 */
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
 * The state under which the next call of the one who asks would be decided, asked with their
 * playground key, which is made when it is first needed. Null: it cannot be read, as when the
 * account is suspended.
 */
export async function decidingState(request: AccountRequest): Promise<DecidingState | null> {
  const { services, clock, sessions, account, author } = request;
  const owner = playgroundOwner(account);
  const digests = [...sessions.playgroundKey(owner).digests];
  const ask = () => services.request(admissionUsage, { id: makeUuidV7(clock.nowMs()), digests });
  const first = await ask();
  const isUnknown = first.kind === 'refused' && first.row === REFUSAL.invalid_api_key;
  if (!isUnknown) return first.kind === 'usage' ? first : null;
  if ((await ensurePlaygroundKey(request, owner, author)) !== null) return null;
  const second = await ask();
  return second.kind === 'usage' ? second : null;
}

/** Whose playground key the one who asks has. */
export function playgroundOwner({ id, memberId }: SessionAccount): PlaygroundOwner {
  return { account: id, member: memberId };
}
