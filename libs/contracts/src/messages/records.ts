import { z } from 'zod';
import { KEY_TERMS } from '../operator/index.js';
import { count, digest, epochMs, nanoUsdPositive, objectId } from './scalars.js';

/** Version of an object. It grows with each change, and the newer one wins in any order. */
const version = count;

/** An account as the accounts service sends it to admission. */
export const accountRecord = z.object({ account: objectId, state: z.enum(['active', 'suspended']), version });
export type AccountRecord = z.infer<typeof accountRecord>;

/** An API key in the limit store. A rotated key has another digest and the same ID. */
export const keyRecord = z.object({
  account: objectId,
  key: objectId,
  member: objectId,
  kind: z.enum(['api', 'playground']),
  digest,
  state: z.enum(['active', 'suspended', 'revoked']),
  expiresAt: epochMs.nullable(),
  capNanoUsd: nanoUsdPositive.nullable(),
  ...KEY_TERMS,
  version,
});
export type KeyRecord = z.infer<typeof keyRecord>;

/** A member in the limit store, with the monthly cap. */
export const memberRecord = z.object({
  account: objectId,
  member: objectId,
  capNanoUsd: nanoUsdPositive.nullable(),
  version,
});
export type MemberRecord = z.infer<typeof memberRecord>;

/** Maximum number of accounts in one request for unchanged accounts. */
export const UNCHANGED_ACCOUNTS_MAX = 1_000;
/** Maximum number of balances, keys or members per account in it. */
export const UNCHANGED_PARTS_MAX = 200;
