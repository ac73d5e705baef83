import { z } from 'zod';
import { accountTerms } from './call.js';
import { count, nanoUsd, objectId, requestId } from './scalars.js';

/**
 * A balance or a counter of an account, named as in `libs/metering` (`wallet`, `km:…`, `mm:…`,
 * `w:…`, `al:…`), with the version at which it last changed. `value` is null if the balance has
 * never been written, as that of a wallet without an entry.
 */
export const versionedBalance = z.object({
  name: z.string().min(1).max(300),
  value: nanoUsd.nullable(),
  version: count,
});
export type VersionedBalance = z.infer<typeof versionedBalance>;

/**
 * Billing sends admission the changed balances of one account, its terms if they changed, and the
 * ids of calls whose record is written.
 */
export const balanceSnapshot = z.object({
  account: objectId,
  rows: z.array(versionedBalance).max(2_000),
  terms: z.object({ value: accountTerms, version: count }).optional(),
  closed: z.array(requestId).max(2_000),
});
export type BalanceSnapshot = z.infer<typeof balanceSnapshot>;
