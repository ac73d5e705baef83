import { accountsNames, NAMES_MAX } from '@gateway/contracts/messages';
import type { Services } from '../ports.js';

/** What people call keys and members. */
export interface AccountNames {
  keyName(id: string): string;
  /** Null: not known any more. */
  memberEmail(id: string): string | null;
  isPlaygroundKey(id: string): boolean;
}

/** The names of these ids, as far as they are the account's own; at most NAMES_MAX of each are asked for. */
export async function namesOf(
  services: Services,
  account: string,
  ids: { readonly keys: readonly string[]; readonly members: readonly string[] },
): Promise<AccountNames> {
  const few = (list: readonly string[]) => [...new Set(list)].slice(0, NAMES_MAX);
  const question = { account, keys: few(ids.keys), members: few(ids.members) };
  const isNone = question.keys.length + question.members.length === 0;
  const { keys, members } = isNone ? { keys: [], members: [] } : await services.request(accountsNames, question);
  const key = (id: string) => keys.find((one) => one.id === id);
  return {
    keyName: (id) => key(id)?.name ?? id,
    memberEmail: (id) => members.find((member) => member.id === id)?.email ?? null,
    isPlaygroundKey: (id) => key(id)?.kind === 'playground',
  };
}
