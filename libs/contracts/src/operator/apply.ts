import { z } from 'zod';
import { accountCreate, limitsSpec } from './accounts.js';
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
import { keyCreate } from './keys.js';
import { planPut, planSpec, subscriptionSpec } from './plans.js';
import { EXTERNAL_ID_FORM, modelId, objectId } from './scalars.js';

/** Maximum number of objects in one document. */
export const APPLY_OBJECTS_MAX = 1_000;

export const APPLY_KINDS = ['provider', 'model', 'source', 'alias', 'plan'] as const;
export type ApplyKind = (typeof APPLY_KINDS)[number];

const APPLIED = [
  z.object({ kind: z.literal('provider'), id: objectId, spec: providerPut }),
  z.object({ kind: z.literal('model'), id: modelId, spec: modelPut }),
  z.object({ kind: z.literal('plan'), id: objectId, spec: planPut }),
  z.object({ kind: z.literal('source'), id: objectId, spec: sourcePut }),
  z.object({ kind: z.literal('alias'), id: aliasName, spec: aliasPut }),
] as const;

/** An apply document: each object once, in any order, with the fields of its PUT. */
export const applyDocument = z.object({
  objects: z.array(z.discriminatedUnion('kind', APPLIED)).max(APPLY_OBJECTS_MAX).superRefine(refuseDuplicates),
});
export type ApplyDocument = z.output<typeof applyDocument>;

const ACCOUNT_NAME = `(?:acc_[0-9a-f]{32}|${EXTERNAL_ID_FORM})`;
const accountName = z
  .string()
  .regex(new RegExp(`^${ACCOUNT_NAME}$`), 'an ID of your choice, in the form of a DNS label, or acc_… of an account');
const keyName = z
  .string()
  .regex(new RegExp(`^${ACCOUNT_NAME}/${EXTERNAL_ID_FORM}$`), '<account>/<key>, each in the form of a DNS label');

/** Kinds of objects that belong to an account. */
export const ACCOUNT_KINDS = ['account', 'subscription', 'limits', 'key'] as const;
/**
 * An object of an account in a configuration file, with the fields of its request. An ID is an
 * external ID, or the generated one of an account. Absent `state`: unchanged.
 */
const OF_ACCOUNTS = [
  z.object({
    kind: z.literal('account'),
    id: accountName,
    spec: accountCreate.omit({ externalId: true }).extend({ state: z.enum(['active', 'suspended']).optional() }),
  }),
  z.object({ kind: z.literal('subscription'), id: accountName, spec: subscriptionSpec }),
  z.object({ kind: z.literal('limits'), id: accountName, spec: limitsSpec }),
  z.object({
    kind: z.literal('key'),
    id: keyName,
    spec: keyCreate.omit({ externalId: true }).extend({ state: z.enum(['active', 'suspended', 'revoked']).optional() }),
  }),
] as const;
export type AccountObject = z.output<(typeof OF_ACCOUNTS)[number]>;

const FILE_OBJECTS_MAX = 10_000;
/**
 * A file of `operator apply`: objects of an apply document, and objects of accounts, each once and
 * in any order. The command sends the former as one document, and requests for each of the latter.
 */
export const configurationFile = z.object({
  objects: z
    .array(z.discriminatedUnion('kind', [...APPLIED, ...OF_ACCOUNTS]))
    .max(FILE_OBJECTS_MAX)
    .superRefine(refuseDuplicates),
});

function refuseDuplicates(
  objects: readonly { readonly kind: string; readonly id: string }[],
  context: z.core.$RefinementCtx,
): void {
  const seen = new Set<string>();
  for (const [index, { kind, id }] of objects.entries()) {
    const name = `${kind} ${id}`;
    if (seen.has(name)) context.addIssue({ code: 'custom', path: [index], message: `${name} is listed twice` });
    seen.add(name);
  }
}

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
