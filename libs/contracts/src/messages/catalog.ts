import { z } from 'zod';
import { managementRefusal, modelSpec, providerSpec, sourceSpec } from '../operator/index.js';
import { priceFigures } from './call.js';
import { request } from './message.js';
import type { ServiceName } from './message.js';
import { count, endpoint, epochMs, modelId, objectId } from './scalars.js';

/** A price or cost version with the time from which it counts. `figures` null: unpriced from then on. */
export const datedVersion = z.object({ version: objectId, effectiveFrom: epochMs, figures: priceFigures.nullable() });
export type DatedVersion = z.infer<typeof datedVersion>;

/**
 * Entries of the KV bucket `catalog`: what the edge and admission see. Keys: `provider.<id>`, `source.<id>`,
 * `model.<base64url of the id>`; the head is the bus's.
 */
export const catalogProvider = z.object({
  v: z.literal(1),
  id: objectId,
  name: z.string(),
  format: z.enum(['openai', 'anthropic']),
});
export type CatalogProvider = z.infer<typeof catalogProvider>;

export const catalogModel = z.object({
  v: z.literal(1),
  id: modelId,
  displayName: z.string(),
  active: z.boolean(),
  available: z.boolean(),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  bytesPerToken: z.number(),
  createdAt: epochMs,
  /** By `effectiveFrom`, ascending: the one in force and those to come. */
  prices: z.array(datedVersion).max(64),
});
export type CatalogModel = z.infer<typeof catalogModel>;

export const catalogSource = z.object({
  v: z.literal(1),
  id: objectId,
  model: modelId,
  provider: objectId,
  baseUrl: z.string(),
  upstreamModel: z.string(),
  endpoints: z.array(endpoint),
  paths: z.partialRecord(endpoint, z.string()),
  auth: z.discriminatedUnion('type', [
    z.object({ type: z.literal('bearer') }),
    z.object({ type: z.literal('header'), header: z.string() }),
  ]),
  /** Sealed for this source's id; null: the source needs none. */
  sealedCredential: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  betas: z.union([z.literal('pass'), z.array(z.string())]),
  priority: z.int(),
  weight: z.int(),
  enabled: z.boolean(),
  streamUsage: z.boolean(),
  cancelStopsBilling: z.boolean(),
  limits: z.object({
    headersTimeoutMs: z.int().nullable(),
    firstEventTimeoutMs: z.int().nullable(),
    silenceTimeoutMs: z.int().nullable(),
  }),
  costs: z.array(datedVersion).max(64),
});
export type CatalogSource = z.infer<typeof catalogSource>;

/** The bucket's key of a model. */
export function modelEntryKey(model: string): string {
  return `model.${Buffer.from(model).toString('base64url')}`;
}

/** The sources of one model. */
export const SOURCES_PER_MODEL_MAX = 8;

/** Buckets of the key-value store, with who may write and read them. */
export const BUCKETS: Readonly<
  Record<string, { readonly writtenBy: ServiceName; readonly readBy: readonly ServiceName[] }>
> = {
  catalog: { writtenBy: 'catalog', readBy: ['edge-proxy', 'admission', 'dashboard'] },
};

const actor = z.string().min(1).max(200);
const saved = z.object({ change: z.enum(['created', 'changed', 'unchanged']), revision: count });
const management = {
  version: 1,
  sentBy: ['dashboard'],
  servedBy: ['catalog'],
  perReplica: false,
  answers: 'one',
  timeoutMs: 5_000,
} as const;

export const catalogPutProvider = request({
  ...management,
  name: 'catalog.put-provider',
  subject: 'catalog.put-provider',
  body: z.object({ id: objectId, spec: providerSpec, actor }),
  answer: z.union([saved, managementRefusal]),
});

export const catalogPutModel = request({
  ...management,
  name: 'catalog.put-model',
  subject: 'catalog.put-model',
  body: z.object({ id: modelId, spec: modelSpec, actor }),
  answer: z.union([saved, managementRefusal]),
});

/** The credential travels sealed; absent: the stored one is kept, null: none. */
export const catalogPutSource = request({
  ...management,
  name: 'catalog.put-source',
  subject: 'catalog.put-source',
  body: z.object({
    id: objectId,
    spec: sourceSpec,
    sealedCredential: z.string().max(8_192).nullable().optional(),
    actor,
  }),
  answer: z.union([saved, managementRefusal]),
});
