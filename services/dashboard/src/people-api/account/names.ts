import { accountsNames, NAMES_MAX, type AnswerOf } from '@gateway/contracts/messages';
import type { Services } from '../../operator-api/route.js';

type Names = AnswerOf<typeof accountsNames>;

/** Display names of keys and members. */
export interface AccountNames {
  keyName(id: string): string;
  /** Like `keyName`, but adds the member's email address to one of several playground keys. */
  keyLabel(id: string): string;
  /** The member of a key; null: unknown. */
  keyMember(id: string): string | null;
  /** Null: no longer known. */
  memberEmail(id: string): string | null;
}

/** Looks up names of the account's keys and members, including revoked and removed ones. */
export async function readNames(
  services: Services,
  account: string,
  ids: { readonly keys: readonly string[]; readonly members: readonly string[] },
): Promise<AccountNames> {
  const [keyIds, memberIds] = [[...new Set(ids.keys)], [...new Set(ids.members)]];
  const keys = new Map<string, Names['keys'][number]>();
  const emails = new Map<string, string>();
  for (let at = 0; at < Math.max(keyIds.length, memberIds.length); at += NAMES_MAX) {
    const few = (list: readonly string[]) => list.slice(at, at + NAMES_MAX);
    const named = await services.request(accountsNames, { account, keys: few(keyIds), members: few(memberIds) });
    for (const key of named.keys) keys.set(key.id, key);
    for (const { id, email } of named.members) emails.set(id, email);
  }
  const playgrounds = [...keys.values()].filter(({ kind }) => kind === 'playground').length;
  const keyName = (id: string): string => keys.get(id)?.name ?? id;
  return {
    keyName,
    keyLabel(id) {
      const key = keys.get(id);
      return key?.kind === 'playground' && playgrounds > 1 ? `${key.name} (${key.email})` : keyName(id);
    },
    keyMember: (id) => keys.get(id)?.member ?? null,
    memberEmail: (id) => emails.get(id) ?? null,
  };
}
