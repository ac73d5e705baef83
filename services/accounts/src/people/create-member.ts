import type { accountsInviteMember, AnswerBodyOf, ReceivedOf, accountsCreateMember } from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type MemberView } from '@gateway/contracts/operator';
import { ATTEMPT_LIMITS } from '../base/attempt-rules.js';
import { countAttempts } from '../base/count-attempts.js';
import { queueNotice } from '../mail/queue-notice.js';
import { refuseNewMember, toMemberView } from './rules.js';
import { commandTaken, type MakeId, readCap, toCapRecord } from '../base/rules.js';
import type { PeopleStore, PeopleTx } from './store.js';

export interface CreateMemberDeps {
  readonly store: Pick<PeopleStore, 'change'>;
  readonly makeId: MakeId;
  readonly teamsEnabled: boolean;
}
export type CreateMember = ReceivedOf<typeof accountsCreateMember>;

/**
 * Adds a person to a team. An address has the same user in all accounts. Admission loads the member
 * at the first use of one of the member's keys.
 */
export async function createMember(
  deps: CreateMemberDeps,
  request: CreateMember,
): Promise<{ member: MemberView } | ManagementRefusal> {
  const added = await deps.store.change((tx) => addMember(tx, deps, request));
  return isRefusal(added) ? added : { member: added.view };
}

/** Adds a person to a team and emails them. Successful invitations are counted per account. */
export async function inviteMember(
  deps: CreateMemberDeps & { readonly nowMs: () => number },
  { account, spec, author }: ReceivedOf<typeof accountsInviteMember>,
): Promise<AnswerBodyOf<typeof accountsInviteMember>> {
  const now = deps.nowMs();
  return deps.store.change(async (tx) => {
    const attempt = { limit: ATTEMPT_LIMITS.inviteAccount, subject: account };
    const throttled = await countAttempts(tx, [attempt], now);
    if (throttled) return throttled;
    // Only the email verifies an address.
    const added = await addMember(tx, deps, { account, spec: { ...spec, emailVerified: false }, author });
    if (isRefusal(added)) {
      await tx.takeBackAttempt(attempt.limit, attempt.subject);
      return added;
    }
    await queueNotice(tx, { notice: 'invitation', user: added.user, account }, now);
    return { member: added.view };
  });
}

async function addMember(
  tx: PeopleTx,
  { makeId, teamsEnabled }: Omit<CreateMemberDeps, 'store'>,
  { account: id, spec, author, command }: CreateMember,
): Promise<{ readonly view: MemberView; readonly user: string } | ManagementRefusal> {
  const cap = readCap(spec.monthlySpendCapUsd);
  const email = spec.email.toLowerCase();
  const account = await tx.lockAccount(id);
  const made = command === undefined ? null : await tx.memberOfCommand(command);
  if (made) return made.member.account === id ? { view: toMemberView(made), user: made.user.id } : commandTaken();
  const isMember = account !== null && (await tx.memberWithEmail(id, email)) !== null;
  const refusal = refuseNewMember({ account, isMember, teamsEnabled });
  if (refusal) return refusal;
  const user = await tx.ensureInvitedUser({ id: makeId('usr'), email, emailVerified: spec.emailVerified });
  const member = await tx.insertMember({
    id: makeId('mem'),
    account: id,
    user: user.id,
    role: spec.role,
    capNanoUsd: cap,
    command: command ?? null,
  });
  const view = toMemberView({ member, user });
  await tx.audit({ author, action: 'create_member', account: id, objectId: member.id, before: null, after: view });
  if (cap !== null) await tx.publishCaps(id, [toCapRecord('member', member)]);
  return { view, user: user.id };
}
