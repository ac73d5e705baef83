import { z } from 'zod';
import { accountTerms } from './call.js';
import { count, nanoUsd, objectId, requestId } from './scalars.js';

/**
 * A balance or a counter of an account, named as in `libs/metering` (`wallet`, `km:…`, `mm:…`, `w:…`, `al:…`), with the
 * version at which it last changed. `value` null: the row has never been written (a wallet without an entry).
 */
export const standingRow = z.object({ name: z.string().min(1).max(300), value: nanoUsd.nullable(), version: count });
export type StandingRow = z.infer<typeof standingRow>;

/** What billing tells admission of one account: changed rows, terms if they changed, ids whose record is written. */
export const standingOfAccount = z.object({
  account: objectId,
  rows: z.array(standingRow).max(2_000),
  terms: z.object({ value: accountTerms, version: count }).optional(),
  closed: z.array(requestId).max(2_000),
});
export type StandingOfAccount = z.infer<typeof standingOfAccount>;
