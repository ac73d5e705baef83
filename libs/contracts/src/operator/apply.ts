import { z } from 'zod';
import {
  aliasName,
  aliasPut,
  aliasSpec,
  modelPut,
  modelSpec,
  providerPut,
  providerSpec,
  sourcePut,
  sourceSpec,
} from './catalog.js';
import { planPut, planSpec } from './plans.js';
import { modelId, objectId } from './scalars.js';

/** Maximum number of objects in one document. */
export const APPLY_OBJECTS_MAX = 1_000;

export const APPLY_KINDS = ['provider', 'model', 'source', 'alias', 'plan'] as const;
export type ApplyKind = (typeof APPLY_KINDS)[number];

/** An apply document: each object once, in any order, with the fields of its PUT. */
export const applyDocument = z.object({
  objects: z
    .array(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('provider'), id: objectId, spec: providerPut }),
        z.object({ kind: z.literal('model'), id: modelId, spec: modelPut }),
        z.object({ kind: z.literal('plan'), id: objectId, spec: planPut }),
        z.object({ kind: z.literal('source'), id: objectId, spec: sourcePut }),
        z.object({ kind: z.literal('alias'), id: aliasName, spec: aliasPut }),
      ]),
    )
    .max(APPLY_OBJECTS_MAX)
    .superRefine((objects, context) => {
      const seen = new Set<string>();
      for (const [index, { kind, id }] of objects.entries()) {
        const name = `${kind} ${id}`;
        if (seen.has(name)) context.addIssue({ code: 'custom', path: [index], message: `${name} is listed twice` });
        seen.add(name);
      }
    }),
});
export type ApplyDocument = z.output<typeof applyDocument>;

/** The sealed credential of a source or provider. Absent: unchanged. Null: removed. */
export const sealedCredential = z.string().max(8_192).nullable().optional();

/** An object that the dashboard sends to catalog. */
export const catalogObject = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('provider'), id: objectId, spec: providerSpec, sealedCredential }),
  z.object({ kind: z.literal('model'), id: modelId, spec: modelSpec }),
  z.object({ kind: z.literal('source'), id: objectId, spec: sourceSpec, sealedCredential }),
  z.object({ kind: z.literal('alias'), id: aliasName, spec: aliasSpec }),
]);
export type CatalogObject = z.output<typeof catalogObject>;

/** A plan that the dashboard sends to billing. */
export const planObject = z.object({ id: objectId, spec: planSpec });

/**
 * The change of one object. `before` and `after` are views without credentials. Null: the object
 * does not exist.
 */
export const applyChange = z.object({
  kind: z.enum(APPLY_KINDS),
  id: z.string(),
  change: z.enum(['created', 'changed', 'unchanged', 'deleted']),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  /** Whether the credential was replaced. */
  credentialChanged: z.boolean(),
});
export type ApplyChange = z.infer<typeof applyChange>;

/** Result of an apply request. Unchanged objects are counted and not listed. */
export const applyAnswer = z.object({
  dryRun: z.boolean(),
  changes: z.array(applyChange),
  unchanged: z.int(),
  inForce: z.boolean(),
});
export type ApplyAnswer = z.infer<typeof applyAnswer>;
