import { z } from 'zod';
import { email, externalId, label, objectId, time, usdCap } from './scalars.js';

export const accountCreate = z.object({
  name: label,
  email,
  emailVerified: z.boolean().default(false),
  type: z.enum(['personal', 'team']).default('personal'),
  /** Unique among accounts. */
  externalId: externalId.optional(),
});

export const accountView = z.object({
  id: objectId,
  name: z.string(),
  type: z.enum(['personal', 'team']),
  /** `closed` is final. Name and address are then erased. */
  state: z.enum(['active', 'suspended', 'closed']),
  ownerMemberId: objectId,
  email: z.string(),
  emailVerified: z.boolean(),
  createdAt: time,
  /** Null: none was given at creation. */
  externalId: z.string().nullable().default(null),
});
export type AccountView = z.infer<typeof accountView>;

export const memberRole = z.enum(['owner', 'admin', 'member']);

/** A new member. The owner is created with the account. */
export const memberCreate = z.object({
  email,
  emailVerified: z.boolean().default(false),
  role: memberRole.exclude(['owner']).default('member'),
  monthlySpendCapUsd: usdCap.nullish(),
});
export type MemberCreate = z.output<typeof memberCreate>;

/** Replaces all fields of a member. Its address cannot change. */
export const memberPut = z.object({
  email,
  /** A verified address stays verified. */
  emailVerified: z.boolean().default(false),
  role: memberRole,
  monthlySpendCapUsd: usdCap.nullish(),
});
export type MemberPut = z.output<typeof memberPut>;

export const memberView = z.object({
  id: objectId,
  accountId: objectId,
  email: z.string(),
  emailVerified: z.boolean(),
  role: memberRole,
  monthlySpendCapUsd: z.string().nullable(),
  createdAt: time,
});
export type MemberView = z.infer<typeof memberView>;

/** Limits of one account that override its plan's or the defaults. Absent or null: no override. */
export const limitsSpec = z.object({
  requestsPerMinute: z.int().min(1).max(1_000_000).nullish(),
  concurrency: z.int().min(1).max(100_000).nullish(),
  maxActiveKeys: z.int().min(1).max(10_000).nullish(),
});
export type LimitsSpec = z.output<typeof limitsSpec>;
