import { z } from 'zod';
import { keyCreate, keyCreated, keyView } from '../operator/accounts.js';

/** A key as the list shows it. */
export const pageKey = keyView.extend({
  memberEmail: z.string(),
  /** Charged in this calendar month (UTC), whoever paid it. */
  monthSpendUsd: z.string(),
});
export type PageKey = z.infer<typeof pageKey>;

/** Whether the one who asks may make a key now, by the key rules; if not, why. */
export const keyCreation = z.object({
  allowed: z.boolean(),
  code: z.enum(['email_not_verified', 'no_funding', 'key_limit_reached', 'state_conflict']).nullable(),
  message: z.string().nullable(),
  /** Of the whole account: active and suspended keys. */
  activeKeys: z.int(),
  maxActiveKeys: z.int(),
  /** What a key gets whose cap is left blank; null: none. */
  defaultCapUsd: z.string().nullable(),
});
export type KeyCreation = z.infer<typeof keyCreation>;

export const pageKeys = z.object({
  data: z.array(pageKey),
  next_cursor: z.string().nullable(),
  creation: keyCreation,
});
export type PageKeys = z.infer<typeof pageKeys>;

/**
 * `memberId` absent: the one who asks. Cap, list and name cannot be changed later; expiry is set by
 * operators only.
 */
export const pageKeyCreate = keyCreate.omit({ expiresAt: true });
export type PageKeyCreate = z.input<typeof pageKeyCreate>;

/**
 * The secret is shown once. `inForce: false`: the secret is the key's own, but not every part of
 * the gateway has it yet, and the one before may still pass until then.
 */
export const pageKeyCreated = keyCreated.extend({ inForce: z.boolean() });
export type PageKeyCreated = z.infer<typeof pageKeyCreated>;
