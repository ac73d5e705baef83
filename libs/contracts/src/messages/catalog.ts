import { z } from 'zod';
import {
  APPLY_OBJECTS_MAX,
  PAGE_LIMIT_MAX,
  aliasName,
  aliasSpec,
  aliasView,
  applyChange,
  attachmentSizes,
  auditEntryView,
  bodyRules,
  catalogObject,
  cursor,
  errorRule,
  managementRefusal,
  modelSpec,
  modelView,
  priceProposalPut,
  priceProposalSaved,
  priceProposalView,
  pricingRules,
  providerProfile,
  providerSpec,
  providerView,
  quotaUse,
  sealedCredential,
  sourceAuth,
  sourceHealthView,
  sourceQuota,
  sourceSpec,
  sourceView,
} from '../operator/index.js';
import { commandAuthor } from './access.js';
import { ATTEMPT_OUTCOMES, priceFigures } from './call.js';
import { type ServiceName, managementBy, published, request } from './message.js';
import { QUOTAS_BUCKET } from './quotas.js';
import { TOTAL_EXTRAS, count, endpoint, epochMs, modelId, objectId } from './scalars.js';

/** A price or cost version that applies from a time. Null `figures`: unpriced from then. */
export const datedVersion = z.object({ version: objectId, effectiveFrom: epochMs, figures: priceFigures.nullable() });
export type DatedVersion = z.infer<typeof datedVersion>;

/**
 * Entries of the KV bucket `catalog`, which the edge and admission mirror. Keys: `provider.<id>`,
 * `source.<id>`, `model.<base64url of the id>`, `alias.<base64url of the name>`. The bus library
 * writes the entry `head`, by which a mirror finds that it is complete.
 */
export const catalogProvider = z.object({
  v: z.literal(1),
  id: objectId,
  name: z.string(),
  format: z.enum(['openai', 'anthropic']),
  /**
   * The credential for sources without their own one, sealed for {@link providerCredentialPlace}.
   * Absent: the provider has no credential.
   */
  sealedCredential: z.string().optional(),
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
  /** The version in force and later ones, by ascending `effectiveFrom`. */
  prices: z.array(datedVersion).max(64),
});
export type CatalogModel = z.infer<typeof catalogModel>;

/** Lower-case names of headers that belong to a connection or a body. Sources cannot set them. */
export const CONNECTION_HEADERS: readonly string[] = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

export const catalogSource = z.object({
  v: z.literal(1),
  id: objectId,
  model: modelId,
  provider: objectId,
  baseUrl: z.string(),
  upstreamModel: z.string(),
  endpoints: z.array(endpoint),
  paths: z.partialRecord(endpoint, z.string()),
  auth: sourceAuth,
  /**
   * Sealed for this source's ID. Null: the source uses its provider's credential, one from the
   * edge's environment, or none.
   */
  sealedCredential: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  /** Names of client headers that are forwarded, in lower case. Absent: none. */
  forwardHeaders: z.array(z.string()).optional(),
  betas: z.union([z.literal('pass'), z.array(z.string())]),
  /** With `pass`: prefixes of betas that are not forwarded. Absent: none. */
  betasRefused: z.array(z.string()).optional(),
  priority: z.int(),
  weight: z.int(),
  enabled: z.boolean(),
  streamUsage: z.boolean(),
  cancelStopsBilling: z.boolean(),
  /** The count that `total_tokens` has beyond input and output. Absent: `reasoning`. */
  totalExtra: z.enum(TOTAL_EXTRAS).optional(),
  /** Whether `input_tokens` on messages endpoints include cached tokens. Absent: no. */
  cachedInInput: z.boolean().optional(),
  limits: z.object({
    headersTimeoutMs: z.int().nullable(),
    firstEventTimeoutMs: z.int().nullable(),
    silenceTimeoutMs: z.int().nullable(),
  }),
  costs: z.array(datedVersion).max(64),
  /** Absent: the source has no profile. */
  profile: z.string().optional(),
  /** Paths of streamed requests that differ from `paths`. */
  streamedPaths: z.partialRecord(endpoint, z.string()).optional(),
  body: bodyRules.optional(),
  /** Absent: every request is forwarded at the price of the standard class. */
  pricing: pricingRules.optional(),
  /**
   * Forwards all requests at the price of the standard class; `pricing` only selects the names for
   * the usage record. Absent: requests without a price are refused.
   */
  unpriced: z.literal('forward').optional(),
  /** Maximum sizes of attachments. Absent: the defaults. */
  attachments: attachmentSizes.optional(),
  errors: z.array(errorRule).optional(),
  unlimitedMaxTokens: z.array(z.int()).optional(),
  /** Whether the source stores responses that later requests can reference. Absent: it does. */
  keepsState: z.boolean().optional(),
  /** Forwards IDs that the account did not get from here. Absent: such requests are refused. */
  foreignIds: z.literal('forward').optional(),
  /** Absent: the source has no quota. */
  quota: sourceQuota.optional(),
});
export type CatalogSource = z.infer<typeof catalogSource>;

/** Returns the context that a provider's credential is sealed for. Source IDs cannot equal it. */
export function providerCredentialPlace(provider: string): string {
  return `provider:${provider}`;
}

/** Returns the bucket key of a model. */
export function modelEntryKey(model: string): string {
  return `model.${Buffer.from(model).toString('base64url')}`;
}

/** A name that clients may send for a model. */
export const catalogAlias = z.object({ v: z.literal(1), id: aliasName, model: modelId });
export type CatalogAlias = z.infer<typeof catalogAlias>;

export function aliasEntryKey(alias: string): string {
  return `alias.${Buffer.from(alias).toString('base64url')}`;
}

/** Maximum number of profiles, because all are sent in one message. */
export const PROFILES_MAX = 64;

/** Maximum number of sources per model. */
export const SOURCES_PER_MODEL_MAX = 8;

/** The services that write and read a bucket of the key-value store. */
export interface BucketOwners {
  readonly writtenBy: readonly ServiceName[];
  readonly readBy: readonly ServiceName[];
  /** Entries are written and read one by one. Absent: published as a whole and mirrored. */
  readonly lookedUp?: true;
}

/**
 * IDs of stored responses, their items and containers: one entry per ID, with the source that
 * returned it. The key is a hash of account and ID. The capacity is configured. A full bucket
 * rejects new entries and never drops one early.
 */
export const RESPONSE_IDS_BUCKET = {
  name: 'response-ids',
  /** Retention of an ID: the time for which providers keep responses. */
  ageMaxMs: 30 * 86_400_000,
  /** Maximum bytes of an entry on disk: a subject of 45 characters, a source ID of 64, overhead. */
  entryBytesMax: 160,
  /** Default capacity: 600,000 responses of five IDs, about 20,000 per day. */
  entriesDefault: 3_000_000,
} as const;

/**
 * The database timeline, stored outside the database by each service with a schema there. Services
 * use it to reject an old primary.
 */
export const DATABASE_BUCKET = { name: 'database', ageMaxMs: 0, bytesMax: 1024 * 1024 } as const;
const DATABASE_SERVICES = ['billing', 'accounts', 'catalog'] as const;

/** The buckets of the key-value store by their names. */
export const BUCKETS: Readonly<Record<string, BucketOwners>> = {
  catalog: { writtenBy: ['catalog'], readBy: ['edge-proxy', 'admission', 'dashboard'] },
  [RESPONSE_IDS_BUCKET.name]: { writtenBy: ['edge-proxy'], readBy: ['edge-proxy'], lookedUp: true },
  [QUOTAS_BUCKET.name]: { writtenBy: ['edge-proxy'], readBy: ['edge-proxy'], lookedUp: true },
  [DATABASE_BUCKET.name]: { writtenBy: DATABASE_SERVICES, readBy: DATABASE_SERVICES, lookedUp: true },
};

const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();
/**
 * `inForce`: every running edge and admission has confirmed that it uses this revision. False: some
 * had not confirmed before the timeout; they follow without another command.
 */
const outcome = { change: z.enum(['created', 'changed', 'unchanged']), revision: count, inForce: z.boolean() };
const management = managementBy('catalog');

/** Creates or replaces a provider. The credential is sealed. */
export const catalogPutProvider = request({
  ...management,
  name: 'catalog.put-provider',
  body: z.object({ id: objectId, spec: providerSpec, sealedCredential, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, provider: providerView }), managementRefusal]),
});

export const catalogPutModel = request({
  ...management,
  name: 'catalog.put-model',
  body: z.object({ id: modelId, spec: modelSpec, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, model: modelView }), managementRefusal]),
});

/** Creates or replaces a source. The credential is sealed. */
export const catalogPutSource = request({
  ...management,
  name: 'catalog.put-source',
  body: z.object({ id: objectId, spec: sourceSpec, sealedCredential, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, source: sourceView }), managementRefusal]),
});

/** Refused with `state_conflict` if the name is a catalog ID. */
export const catalogPutAlias = request({
  ...management,
  name: 'catalog.put-alias',
  body: z.object({ id: aliasName, spec: aliasSpec, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, alias: aliasView }), managementRefusal]),
});

export const catalogGetProvider = request({
  ...management,
  name: 'catalog.get-provider',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ provider: providerView }), managementRefusal]),
});

export const catalogGetModel = request({
  ...management,
  name: 'catalog.get-model',
  body: z.object({ id: modelId }),
  answer: z.union([z.object({ model: modelView }), managementRefusal]),
});

/** `revision`: a catalog revision that has the source like this or newer. */
export const catalogGetSource = request({
  ...management,
  name: 'catalog.get-source',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ source: sourceView, revision: count }), managementRefusal]),
});

export const catalogGetAlias = request({
  ...management,
  name: 'catalog.get-alias',
  body: z.object({ id: aliasName }),
  answer: z.union([z.object({ alias: aliasView }), managementRefusal]),
});

export const catalogListProviders = request({
  ...management,
  name: 'catalog.list-providers',
  body: z.object(page),
  answer: z.union([z.object({ providers: z.array(providerView), nextCursor }), managementRefusal]),
});

/** Lists the provider profiles. They change only with a release. */
export const catalogListProfiles = request({
  ...management,
  name: 'catalog.list-profiles',
  body: z.object({}),
  answer: z.union([z.object({ profiles: z.array(providerProfile).max(PROFILES_MAX) }), managementRefusal]),
});

export const catalogListModels = request({
  ...management,
  name: 'catalog.list-models',
  body: z.object(page),
  answer: z.union([
    z.object({
      models: z.array(modelView),
      /** The models of the page that a source, enabled or not, serves on the messages format. */
      onMessages: z.array(modelId),
      nextCursor,
    }),
    managementRefusal,
  ]),
});

export const catalogListSources = request({
  ...management,
  name: 'catalog.list-sources',
  body: z.object({ model: modelId.nullable(), ...page }),
  answer: z.union([z.object({ sources: z.array(sourceView), nextCursor }), managementRefusal]),
});

export const catalogListAliases = request({
  ...management,
  name: 'catalog.list-aliases',
  body: z.object(page),
  answer: z.union([z.object({ aliases: z.array(aliasView), nextCursor }), managementRefusal]),
});

/**
 * Stores the result of a comparison with price lists. A content that differs from the previous one
 * raises an alert.
 */
export const catalogProposePrices = request({
  ...management,
  name: 'catalog.propose-prices',
  body: z.object({ proposal: priceProposalPut, author: commandAuthor }),
  answer: z.union([z.object({ proposal: priceProposalSaved }), managementRefusal]),
});

/** Refused with `not_found` until a comparison is stored. */
export const catalogGetPriceProposal = request({
  ...management,
  name: 'catalog.get-price-proposal',
  body: z.object({}),
  answer: z.union([z.object({ proposal: priceProposalView }), managementRefusal]),
});

/**
 * Refused with `in_use` while a source refers to the provider or model, or an alias to the model.
 * Price and cost versions are never deleted.
 */
export const catalogDelete = request({
  ...management,
  name: 'catalog.delete',
  body: z.object({
    kind: z.enum(['provider', 'model', 'source', 'alias']),
    id: z.union([objectId, modelId, aliasName]),
    author: commandAuthor,
  }),
  answer: z.union([z.object({ revision: count, inForce: z.boolean() }), managementRefusal]),
});

/**
 * Applies all objects in one transaction or none. `prune` also deletes every object of the catalog
 * that is not listed. A dry run does the same and rolls back.
 */
export const catalogApply = request({
  ...management,
  name: 'catalog.apply',
  timeoutMs: 15_000,
  body: z.object({
    objects: z.array(catalogObject).max(APPLY_OBJECTS_MAX),
    prune: z.boolean(),
    dryRun: z.boolean(),
    author: commandAuthor,
  }),
  answer: z.union([
    z.object({ changes: z.array(applyChange), unchanged: count, revision: count, inForce: z.boolean() }),
    managementRefusal,
  ]),
});

export const catalogAudit = request({
  ...management,
  name: 'catalog.audit',
  body: z.object({ object: z.string().max(200).nullable(), ...page }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});

/**
 * Lists the health of sources as edges last reported it, without edges that have been silent for
 * half a minute.
 */
export const catalogSourceHealth = request({
  ...management,
  name: 'catalog.source-health',
  body: z.object(page),
  answer: z.union([z.object({ sources: z.array(sourceHealthView), nextCursor }), managementRefusal]),
});

/**
 * Interval at which a replica reports its revision. A replica that has been silent for three
 * intervals counts as stopped.
 */
export const CATALOG_REVISION_EVERY_MS = 2_000;

/** The catalog revision that a replica uses. It is sent after each change and every two seconds. */
export const catalogRevisionUsed = published({
  name: 'catalog.revision-used',
  sentBy: ['edge-proxy', 'admission'],
  servedBy: ['catalog'],
  reaches: 'all',
  body: z.object({
    /** `<service>.<replica>`, unique per process. */
    replica: z.string().min(1).max(200),
    revision: count,
    /** The replica stops, so the catalog no longer waits for it. */
    last: z.boolean(),
  }),
});

/** Maximum number of sources in one health message. */
export const SOURCE_HEALTH_MAX = 500;
/** Interval at which an edge reports the health of its sources. */
export const SOURCE_HEALTH_EVERY_MS = 5_000;

/**
 * The health of the sources that an edge has tried. The catalog shows it to operators, and other
 * edges use it to order their sources.
 */
export const edgeHealth = published({
  name: 'edge.health',
  sentBy: ['edge-proxy'],
  servedBy: ['catalog', 'edge-proxy'],
  reaches: 'all',
  body: z.object({
    edge: objectId,
    sources: z
      .array(
        z.object({
          source: objectId,
          failures: count,
          /** End of the cooldown, epoch milliseconds; 0: none. */
          coolUntil: epochMs,
          openUntil: epochMs,
          lastOutcome: z.enum(ATTEMPT_OUTCOMES).nullable(),
          lastStatus: z.int().nullable(),
          lastAt: epochMs.nullable(),
          /**
           * A call tests the source after its breaker was open. Other edges do not test it at the
           * same time.
           */
          probing: z.boolean(),
          /** Since its last attempt here, the edge has completed a call at another source. */
          answeredElsewhere: z.boolean(),
          /** Attempts of the last minutes. */
          attempts: count,
          /** Attempts that failed because of the source. */
          errors: count,
          /** Moving average of the milliseconds to the response head. Null: no response. */
          firstByteMs: count.nullable(),
          /** Attempts for which the edge held no share of the quotas. */
          overQuota: count,
          /** Quota use of all edges as last read by this edge. Null: no quota, or unused. */
          quota: quotaUse.nullable(),
        }),
      )
      .max(SOURCE_HEALTH_MAX),
  }),
});
