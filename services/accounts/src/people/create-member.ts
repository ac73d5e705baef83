import { isRefusal, type ManagementRefusal, type MemberCreate, type MemberView } from '@gateway/contracts/operator';
import { refuseNewMember } from '../domain/members.js';
import { readCap } from '../domain/read-cap.js';
import { commandTaken } from '../domain/refusal.js';
import { toMemberView, toToldCap } from '../domain/views.js';
import type { AccountsStore, MakeId } from '../ports.js';
import { queueNotice } from '../sign-in/queue-notice.js';
import { takeInUser } from './take-in-user.js';

export interface CreateMemberPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly makeId: MakeId;
  readonly teamsEnabled: boolean;
  readonly nowMs: () => number;
}
export interface CreateMember {
  readonly account: string;
  readonly spec: MemberCreate;
  readonly actor: string;
  readonly command?: string | undefined;
  /** Whether the person is mailed. */
  readonly invite?: boolean | undefined;
}

/**
 * Adds a person to a team. A user who is known by the address is the same one in all accounts. Admission hears of a member
 * when a key of theirs is first used.
 */
export async function createMember(
  { store, makeId, teamsEnabled, nowMs }: CreateMemberPorts,
  { account: id, spec, actor, command, invite }: CreateMember,
): Promise<{ member: MemberView } | ManagementRefusal> {
  const cap = readCap(spec.monthlySpendCapUsd);
  if (isRefusal(cap)) return cap;
  const email = spec.email.toLowerCase();
  return store.change(async (tx) => {
    const account = await tx.lockAccount(id);
    const made = command === undefined ? null : await tx.memberOfCommand(command);
    if (made) return made.member.account === id ? { member: toMemberView(made) } : commandTaken();
    const known = account !== null && (await tx.memberWithEmail(id, email)) !== null;
    const refusal = refuseNewMember({ account, known, teamsEnabled });
    if (refusal) return refusal;
    const wanted = { id: makeId('usr'), email, emailVerified: spec.emailVerified };
    const user = await takeInUser(tx, wanted, actor);
    const member = await tx.insertMember({
      id: makeId('mem'),
      account: id,
      user: user.id,
      role: spec.role,
      capNanoUsd: cap,
      command: command ?? null,
    });
    const view = toMemberView({ member, user });
    await tx.audit({ actor, action: 'create_member', account: id, objectId: member.id, before: null, after: view });
    if (cap !== null) await tx.tellBilling(id, [toToldCap('member', member)]);
    if (invite) await queueNotice(tx, { notice: 'invitation', user: user.id, account: id }, nowMs());
    return { member: view };
  });
}
