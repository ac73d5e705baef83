import type { AccountRecord, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import { toAccountRecord, toKeyRecord, toMemberRecord } from '../domain/views.js';
import type { AccountsStore } from '../ports.js';

export interface AccountRecords {
  readonly account: AccountRecord | null;
  readonly key: KeyRecord | null;
  readonly member: MemberRecord | null;
}

/** What admission needs to know of an account and a key, at one instant (docs/protocol.md#r11). */
export async function loadAccount(
  store: AccountsStore,
  request: { readonly account: string; readonly key: string | null },
): Promise<AccountRecords> {
  const { account, key, member } = await store.load(request.account, request.key);
  return {
    account: account && toAccountRecord(account),
    key: key && toKeyRecord(key),
    member: member && toMemberRecord(member),
  };
}
