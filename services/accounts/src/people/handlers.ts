import {
  accountsCreateMember,
  accountsDeleteMember,
  accountsInviteMember,
  accountsListMembers,
  accountsPutMember,
} from '@gateway/contracts/messages';
import { refuseCursor, refuse, type ManagementRefusal, type MemberView } from '@gateway/contracts/operator';
import type { Handlers } from '../base/serve.js';
import { createMember, inviteMember, type CreateMemberDeps } from './create-member.js';
import { deleteMember } from './delete-member.js';
import { putMember, type PutMemberDeps } from './put-member.js';
import { isCursorOf, pageOf } from '../base/rules.js';
import { toMemberView } from './rules.js';
import type { PeopleStore } from './store.js';

/** Returns one page of an account's members: the owner, then the others in the order of joining. */
export async function listMembers(
  store: Pick<PeopleStore, 'account' | 'members'>,
  { account, cursor, limit }: { readonly account: string; readonly cursor: string | null; readonly limit: number },
): Promise<{ members: MemberView[]; nextCursor: string | null } | ManagementRefusal> {
  if (!isCursorOf('mem', cursor)) return refuseCursor();
  const found = await store.members(account, cursor, limit + 1);
  if (found.length === 0 && !(await store.account(account))) return refuse('not_found', 'there is no such account');
  const { items, nextCursor } = pageOf(found, limit, ({ member }) => member.id);
  return { members: items.map(toMemberView), nextCursor };
}

/** Registers the handlers of member requests. */
export function servePeople(
  { lookup, change, awaited }: Handlers,
  deps: CreateMemberDeps & PutMemberDeps & { readonly store: PeopleStore; readonly nowMs: () => number },
): void {
  lookup(accountsListMembers, (body) => listMembers(deps.store, body));
  change(accountsCreateMember, (body) => createMember(deps, body));
  change(accountsInviteMember, (body) => inviteMember(deps, body));
  change(accountsDeleteMember, (body) => deleteMember(deps, body));
  awaited(accountsPutMember, (body) => putMember(deps, body));
}
