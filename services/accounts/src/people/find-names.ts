import type { accountsNames, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import type { AccountsStore } from '../ports.js';

/** Names for ids that stand in usage and statements; ids of other accounts have none here. */
export async function findNames(
  store: Pick<AccountsStore, 'names'>,
  { account, keys, members }: ReceivedOf<typeof accountsNames>,
): Promise<AnswerBodyOf<typeof accountsNames>> {
  const names = await store.names(account, keys, members);
  return {
    keys: names.keys.map(({ id, name, kind, member, email }) => ({ id, name, kind, member, email })),
    members: names.members.map(({ id, email }) => ({ id, email })),
  };
}
