import type { BodyOf, accountsUnchanged } from '@gateway/contracts/messages';

/** The versions of one account's records that the limit store was told. */
export type KeptRecords = BodyOf<typeof accountsUnchanged>['accounts'][number];

/** @param fields of the account in Redis, all or some, with their texts */
export function keptRecords(
  account: string,
  version: number,
  fields: Iterable<readonly [field: string, text: string]>,
): KeptRecords {
  const records: KeptRecords = { account, version, keys: [], members: [] };
  for (const [field, text] of fields) {
    const id = field.slice(2);
    // A key's mark stands before its version, a member's cap after it.
    if (field.startsWith('k:')) records.keys.push({ id, version: Number(text.split(' ')[1]) });
    else if (field.startsWith('m:')) records.members.push({ id, version: Number(text.split(' ')[0]) });
  }
  return records;
}
