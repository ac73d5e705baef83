import { z } from 'zod';
import { count, digest, epochMs, modelId, nanoUsdPositive, objectId } from './scalars.js';

/**
 * Versions grow with each change of the object; the newer one wins, whatever the order of arrival.
 */
const version = count;

/** What admission knows of an account. */
export const accountRecord = z.object({ account: objectId, state: z.enum(['active', 'suspended']), version });
export type AccountRecord = z.infer<typeof accountRecord>;

/** What admission knows of an API key. A rotated key has another digest under the same id. */
export const keyRecord = z.object({
  account: objectId,
  key: objectId,
  member: objectId,
  kind: z.enum(['api', 'playground']),
  digest,
  state: z.enum(['active', 'suspended', 'revoked']),
  expiresAt: epochMs.nullable(),
  capNanoUsd: nanoUsdPositive.nullable(),
  allowedModels: z.array(modelId).min(1).max(500).nullable(),
  version,
});
export type KeyRecord = z.infer<typeof keyRecord>;

/** What admission knows of a member: the monthly cap. */
export const memberRecord = z.object({
  account: objectId,
  member: objectId,
  capNanoUsd: nanoUsdPositive.nullable(),
  version,
});
export type MemberRecord = z.infer<typeof memberRecord>;

/** Most accounts in one question whether they are unchanged. */
export const UNCHANGED_ACCOUNTS_MAX = 1_000;
/** Most balances, keys or members of one account in it. */
export const UNCHANGED_PARTS_MAX = 200;
