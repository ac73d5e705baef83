import { z } from 'zod';
import { accountTerms } from './call.js';
import { count, nanoUsd, objectId, requestId } from './scalars.js';

/**
 * A balance or a counter of an account, with the version of its last change. Names are those of
 * `libs/metering` (`wallet`, `km:…`, `mm:…`, `w:…`, `al:…`). `value` is null if the balance was
 * never written, such as the wallet before its first entry.
 */
export const versionedBalance = z.object({
  name: z.string().min(1).max(300),
  value: nanoUsd.nullable(),
  version: count,
});
export type VersionedBalance = z.infer<typeof versionedBalance>;

/**
 * Balances of one account that billing sends to admission, with the terms if they changed and the
 * IDs of calls whose usage record is written.
 */
export const balanceSnapshot = z.object({
  account: objectId,
  rows: z.array(versionedBalance).max(2_000),
  terms: z.object({ value: accountTerms, version: count }).optional(),
  closed: z.array(requestId).max(2_000),
});
export type BalanceSnapshot = z.infer<typeof balanceSnapshot>;
