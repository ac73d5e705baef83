import { z } from 'zod';
import { externalId, instant, label, modelId, objectId, time, usdCap } from './scalars.js';

/** Null: all models that the account may use. */
export const allowedModels = z.array(modelId).min(1).max(500).nullable();

/**
 * Terms of an API key that have one form in requests, responses, the database and admission. Null:
 * not set. All other schemas and types of a key are derived from this one. A new term is added at
 * the end, because the limit store keeps the terms in this order.
 */
export const KEY_TERMS = { allowedModels } satisfies Readonly<Record<string, z.ZodNullable>>;
const keyTerms = z.object(KEY_TERMS);
export type KeyTerms = z.infer<typeof keyTerms>;

export const keyCreate = z.object({
  name: label,
  /** Absent: the account's owner. */
  memberId: objectId.optional(),
  /** Null or absent: the plan's default cap if it has one, else no cap. */
  monthlySpendCapUsd: usdCap.nullish(),
  ...keyTerms.partial().shape,
  /** Null, absent or empty: all models that the account may use. */
  allowedModels: z.array(modelId).max(500).nullish(),
  expiresAt: instant.nullish(),
  /** Unique among the keys of the account. */
  externalId: externalId.optional(),
});
export type KeyCreate = z.output<typeof keyCreate>;

export const keyView = z.object({
  id: objectId,
  accountId: objectId,
  memberId: objectId,
  name: z.string(),
  maskedSecret: z.string(),
  state: z.enum(['active', 'suspended', 'revoked', 'expired']),
  monthlySpendCapUsd: z.string().nullable(),
  ...KEY_TERMS,
  expiresAt: time.nullable(),
  createdAt: time,
  /** Time of the last admitted call, at most one minute late. Null: never used. */
  lastUsedAt: time.nullable(),
  /** Null: none was given at creation. */
  externalId: z.string().nullable().default(null),
});
export type KeyView = z.infer<typeof keyView>;

/** A key with its secret, which is returned once. A repeated request gets null. */
export const createdKeyView = keyView.extend({ secret: z.string().nullable() });
export type KeyCreated = z.infer<typeof createdKeyView>;

/** An object with the fields of `T`. Fields that may be null may be absent. */
type Source<T> = { readonly [Name in keyof T as null extends T[Name] ? never : Name]: T[Name] } & {
  readonly [Name in keyof T as null extends T[Name] ? Name : never]?: T[Name] | undefined;
};

/** Copies only the fields of a schema. An absent field is null. Does not validate. */
export function pickFields<S extends z.ZodRawShape>(
  shape: S,
  from: Source<z.infer<z.ZodObject<S>>>,
): z.infer<z.ZodObject<S>> {
  const values = from as Readonly<Record<string, unknown>>;
  const fields = Object.keys(shape).map((name) => [name, values[name] ?? null]);
  return Object.fromEntries(fields) as z.infer<z.ZodObject<S>>;
}

/** The terms of a key that was created without any. */
export const NO_KEY_TERMS: KeyTerms = pickFields(KEY_TERMS, {});
