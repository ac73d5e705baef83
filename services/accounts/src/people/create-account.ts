import type { AccountCreate, AccountView, ManagementRefusal } from '@gateway/contracts/operator';
import { refuse } from '../domain/refusal.js';
import { toAccountView } from '../domain/views.js';
import type { AccountsStore, MakeId } from '../ports.js';

export interface CreateAccountPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly makeId: MakeId;
  readonly teamsEnabled: boolean;
}
export interface CreateAccount {
  readonly spec: AccountCreate;
  readonly actor: string;
}

/** Makes an account and its owner; a user who is known by the address becomes the owner of one more account. */
export async function createAccount(
  { store, makeId, teamsEnabled }: CreateAccountPorts,
  { spec, actor }: CreateAccount,
): Promise<{ account: AccountView } | ManagementRefusal> {
  if (spec.type === 'team' && !teamsEnabled)
    return refuse('invalid_request', 'team accounts are not enabled on this deployment', 'type');
  const view = await store.change(async (tx) => {
    const wanted = { id: makeId('usr'), email: spec.email.toLowerCase(), emailVerified: spec.emailVerified };
    const user = await tx.ensureUser(wanted);
    const account = await tx.insertAccount({ id: makeId('acc'), name: spec.name, type: spec.type });
    const owner = await tx.insertMember({
      id: makeId('mem'),
      account: account.id,
      user: user.id,
      role: 'owner',
      capNanoUsd: null,
    });
    const after = toAccountView({ account, owner, user });
    await tx.audit({ actor, action: 'create_account', account: account.id, objectId: account.id, before: null, after });
    return after;
  });
  return { account: view };
}
