import type { ReceivedOf, accountsPutMember } from '@gateway/contracts/messages';
import { isRefusal, refuse, type ManagementRefusal, type MemberView } from '@gateway/contracts/operator';
import { answerInForce, type PendingChange, type ChangeDeps } from '../base/in-force.js';
import { decideMemberPut, toMemberRecord, toMemberView } from './rules.js';
import { accountClosed, toCapRecord } from '../base/rules.js';
import type { PeopleStore, PeopleTx } from './store.js';

export type PutMemberDeps = ChangeDeps<Pick<PeopleStore, 'change'>>;
export type PutMember = ReceivedOf<typeof accountsPutMember>;
interface Answer {
  member: MemberView;
}

/** Replaces a member. Responds after admission has the cap. Repeating it changes nothing. */
export async function putMember(
  { store, inForce, nowMs }: PutMemberDeps,
  request: PutMember,
): Promise<Answer | ManagementRefusal> {
  return answerInForce(inForce, await store.change((tx) => put(tx, request, nowMs)));
}

async function put(
  tx: PeopleTx,
  { account, member: id, spec, author, missingPermissions }: PutMember,
  nowMs: () => number,
): Promise<PendingChange<Answer> | ManagementRefusal> {
  const locked = await tx.lockAccount(account);
  if (locked?.state === 'closed') return accountClosed();
  const current = await tx.membership(account, id);
  if (!current) return refuse('not_found', 'the account has no such member');
  const change = decideMemberPut(spec, current, nowMs(), missingPermissions);
  if (isRefusal(change)) return change;
  const { member, verify } = change;
  const user = verify ? { ...current.user, emailVerified: true } : current.user;
  const after = toMemberView({ member, user });
  if (verify) await tx.verifyUser(user.id);
  if (member !== current.member) await tx.updateMember(member);
  if (verify || member !== current.member)
    await tx.audit({ author, action: 'put_member', account, objectId: id, before: toMemberView(current), after });
  if (member.version !== current.member.version) {
    await tx.publishChange(account, member, { members: [toMemberRecord(member)] });
    await tx.publishCaps(account, [toCapRecord('member', member)]);
  }
  return { account, object: member, answer: { member: after } };
}
