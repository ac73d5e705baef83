import { z } from 'zod';
import { instant, objectId, time } from './scalars.js';

/**
 * Permissions of an operator. `admin`: everything. `finance`: money, and reading everything.
 * `readonly`: reading everything. `operator`: everything except money (wallets, prices, plans,
 * subscriptions, limits), creating and rotating keys of accounts, sending a stored credential to
 * another host, and operators.
 */
export const OPERATOR_ROLES = ['admin', 'operator', 'finance', 'readonly'] as const;
export const operatorRole = z.enum(OPERATOR_ROLES);
export type OperatorRole = z.infer<typeof operatorRole>;

/** A new operator with a unique name. `root` is the deployment's own token. */
export const operatorCreate = z.object({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/, 'letters, digits and _ . @ -, at most 64')
    .refine((name) => name !== 'root', '"root" is the deployment\'s own operator'),
  role: operatorRole,
  /** When the token expires. Null: never. */
  expiresAt: instant.nullable().default(null),
});

export const operatorView = z.object({
  id: objectId,
  name: z.string(),
  role: operatorRole,
  createdAt: time,
  createdBy: z.string(),
  expiresAt: time.nullable().default(null),
});
export type OperatorView = z.infer<typeof operatorView>;

/** A new operator with its token, which is returned once. */
export const operatorCreated = operatorView.extend({ token: z.string().nullable() });
