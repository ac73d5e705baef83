import { z } from 'zod';
import { keyCreate, createdKeyView, keyView } from '../operator/keys.js';

/** A key in the list. */
export const pageKey = keyView.extend({
  memberEmail: z.string(),
  /** Charges of this calendar month (UTC), by plan and wallet. */
  monthSpendUsd: z.string(),
});
export type PageKey = z.infer<typeof pageKey>;

/** Whether the signed-in user may create a key now by the key rules, and the reason if not. */
export const keyCreation = z.object({
  allowed: z.boolean(),
  code: z.enum(['email_not_verified', 'no_funding', 'key_limit_reached', 'state_conflict']).nullable(),
  message: z.string().nullable(),
  /** Active and suspended keys of the whole account. */
  activeKeys: z.int(),
  maxActiveKeys: z.int(),
  /** The cap of a key that is created without one. Null: none. */
  defaultCapUsd: z.string().nullable(),
});
export type KeyCreation = z.infer<typeof keyCreation>;

export const pageKeys = z.object({ data: z.array(pageKey), next_cursor: z.string().nullable(), creation: keyCreation });
export type PageKeys = z.infer<typeof pageKeys>;

/**
 * Absent `memberId`: the signed-in user. Cap, list and name cannot be changed later. Only operators
 * set the expiry and the external ID.
 */
export const pageKeyCreate = keyCreate.omit({ expiresAt: true, externalId: true });
export type PageKeyCreate = z.input<typeof pageKeyCreate>;

/**
 * The secret is returned once. `inForce: false`: the key has the secret, but some parts of the
 * gateway do not know it yet, and may still accept the previous one.
 */
export const pageKeyCreated = createdKeyView.extend({ inForce: z.boolean() });
export type CreatedPageKey = z.infer<typeof pageKeyCreated>;
