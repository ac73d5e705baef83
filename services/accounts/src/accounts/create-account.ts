import type { ReceivedOf, accountsCreateAccount } from '@gateway/contracts/messages';
import { refuse, type AccountView, type ManagementRefusal } from '@gateway/contracts/operator';
import { toAccountView } from './rules.js';
import type { AccountStore } from './store.js';
import { externalIdTaken, type MakeId } from '../base/rules.js';

export interface CreateAccountDeps {
  readonly store: Pick<AccountStore, 'change'>;
  readonly makeId: MakeId;
  readonly teamsEnabled: boolean;
}
export type CreateAccount = ReceivedOf<typeof accountsCreateAccount>;

/**
 * Creates an account and its owner. If the address already has a user, the user becomes the owner
 * of one more account.
 */
export async function createAccount(
  { store, makeId, teamsEnabled }: CreateAccountDeps,
  { spec, author, command }: CreateAccount,
): Promise<{ account: AccountView } | ManagementRefusal> {
  if (spec.type === 'team' && !teamsEnabled)
    return refuse('invalid_request', 'team accounts are not enabled on this deployment', 'type');
  const externalId = spec.externalId ?? null;
  return store.change(async (tx) => {
    if (command !== undefined) {
      await tx.lockCommand(command);
      const made = await tx.accountOfCommand(command);
      if (made) return { account: toAccountView(made) };
    }
    if (externalId !== null) {
      await tx.lockCommand(`account ${externalId}`);
      if (await tx.accountOfExternalId(externalId)) return externalIdTaken('account');
    }
    const wanted = { id: makeId('usr'), email: spec.email.toLowerCase(), emailVerified: spec.emailVerified };
    const user = await tx.ensureInvitedUser(wanted);
    const id = makeId('acc');
    const account = await tx.insertAccount({
      id,
      name: spec.name,
      type: spec.type,
      externalId,
      command: command ?? null,
    });
    const owner = await tx.insertMember({
      id: makeId('mem'),
      account: id,
      user: user.id,
      role: 'owner',
      capNanoUsd: null,
      command: null,
    });
    const after = toAccountView({ account, owner, user });
    await tx.audit({ author, action: 'create_account', account: id, objectId: id, before: null, after });
    return { account: after };
  });
}
