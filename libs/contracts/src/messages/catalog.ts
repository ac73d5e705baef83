import { z } from 'zod';
import {
  aliasName,
  aliasSpec,
  aliasView,
  applyChange,
  APPLY_OBJECTS_MAX,
  attachmentSizes,
  auditEntryView,
  bodyRules,
  catalogObject,
  cursor,
  errorRule,
  managementRefusal,
  modelSpec,
  modelView,
  PAGE_LIMIT_MAX,
  priceProposalPut,
  priceProposalSaved,
  priceProposalView,
  pricingRules,
  providerProfile,
  providerSpec,
  providerView,
  sealedCredential,
  sourceAuth,
  quotaUse,
  sourceHealthView,
  sourceQuota,
  sourceSpec,
  sourceView,
} from '../operator/index.js';
import { priceFigures } from './call.js';
import { commandAuthor } from './access.js';
import { managementBy } from './management.js';
import { published, request } from './message.js';
import type { ServiceName } from './message.js';
import { QUOTAS_BUCKET } from './quotas.js';
import { count, endpoint, epochMs, modelId, objectId, TOTAL_EXTRAS } from './scalars.js';
import { ATTEMPT_OUTCOMES } from './usage.js';

/**
 * A price or cost version with the time from which it counts. `figures` null: unpriced from then
 * on.
 */
export const datedVersion = z.object({ version: objectId, effectiveFrom: epochMs, figures: priceFigures.nullable() });
export type DatedVersion = z.infer<typeof datedVersion>;

/**
 * Entries of the KV bucket `catalog`: what the edge and admission see. Keys: `provider.<id>`,
 * `source.<id>`, `model.<base64url of the id>`, `alias.<base64url of the name>`; the head is the
 * bus's.
 */
export const catalogProvider = z.object({
  v: z.literal(1),
  id: objectId,
  name: z.string(),
  format: z.enum(['openai', 'anthropic']),
  /**
   * For its sources without one of their own, sealed for {@link providerCredentialPlace}; absent:
   * it has none.
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
  /** By `effectiveFrom`, ascending: the one in force and those to come. */
  prices: z.array(datedVersion).max(64),
});
export type CatalogModel = z.infer<typeof catalogModel>;

/**
 * Names, in lower case, of headers that belong to a connection or to the body: a source sets none
 * of them.
 */
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
   * Sealed for this source's id; null: the source has that of its provider, of its surroundings, or
   * needs none.
   */
  sealedCredential: z.string().nullable(),
  headers: z.record(z.string(), z.string()),
  /** Client headers that go on, in lower case. Absent: none. */
  forwardHeaders: z.array(z.string()).optional(),
  betas: z.union([z.literal('pass'), z.array(z.string())]),
  /** With `pass`: those that begin so are kept back. Absent: none. */
  betasRefused: z.array(z.string()).optional(),
  priority: z.int(),
  weight: z.int(),
  enabled: z.boolean(),
  streamUsage: z.boolean(),
  cancelStopsBilling: z.boolean(),
  /** What `total_tokens` have more than input and output; absent: `reasoning`. */
  totalExtra: z.enum(TOTAL_EXTRAS).optional(),
  /**
   * On messages endpoints `input_tokens` have what came from the cache too; absent: they do not.
   */
  cachedInInput: z.boolean().optional(),
  limits: z.object({
    headersTimeoutMs: z.int().nullable(),
    firstEventTimeoutMs: z.int().nullable(),
    silenceTimeoutMs: z.int().nullable(),
  }),
  costs: z.array(datedVersion).max(64),
  /** From here on as the source's profile has it; absent in entries of the version before. */
  profile: z.string().optional(),
  /** The path of streamed calls where it is another than that of `paths`. */
  streamedPaths: z.partialRecord(endpoint, z.string()).optional(),
  body: bodyRules.optional(),
  /** Absent: everything that a request asks for goes on at the price of the standard class. */
  pricing: pricingRules.optional(),
  /**
   * Everything goes on at the price of the standard class, and `pricing` only says what of it the
   * record names. Absent: what has no price is refused.
   */
  unpriced: z.literal('forward').optional(),
  /** The most that attachments can be. Absent: the defaults. */
  attachments: attachmentSizes.optional(),
  errors: z.array(errorRule).optional(),
  unlimitedMaxTokens: z.array(z.int()).optional(),
  /** Whether it keeps responses that later requests name; absent: it does. */
  keepsState: z.boolean().optional(),
  /** It gets IDs that the account did not get from it; absent: such requests are refused. */
  foreignIds: z.literal('forward').optional(),
  /** Absent: nothing bounds what it is sent. */
  quota: sourceQuota.optional(),
});
export type CatalogSource = z.infer<typeof catalogSource>;

/** What the credential of a provider is sealed for: no source can have it as its id. */
export function providerCredentialPlace(provider: string): string {
  return `provider:${provider}`;
}

/** The bucket's key of a model. */
export function modelEntryKey(model: string): string {
  return `model.${Buffer.from(model).toString('base64url')}`;
}

/** A name that clients may send for a model. */
export const catalogAlias = z.object({ v: z.literal(1), id: aliasName, model: modelId });
export type CatalogAlias = z.infer<typeof catalogAlias>;

export function aliasEntryKey(alias: string): string {
  return `alias.${Buffer.from(alias).toString('base64url')}`;
}

/** Profiles of providers: they travel in one answer. */
export const PROFILES_MAX = 64;

/** The sources of one model. */
export const SOURCES_PER_MODEL_MAX = 8;

/** Who may write and read a bucket of the key-value store. */
export interface BucketOwners {
  readonly writtenBy: readonly ServiceName[];
  readonly readBy: readonly ServiceName[];
  /**
   * Its entries are written and looked up one by one. Absent: it is published whole, and mirrored.
   */
  readonly lookedUp?: true;
}

/**
 * IDs of stored responses, their items and containers: one entry per ID, by a hash of account and
 * ID, with the source that gave it. How many it takes is configured; a full bucket rejects new
 * entries and never drops one early.
 */
export const ANSWERS_BUCKET = {
  name: 'answers',
  /** How long an ID is remembered: as long as providers keep responses. */
  ageMaxMs: 30 * 86_400_000,
  /** On disk, of the longest entry: a subject of 40 characters, a source ID of 64, and overhead. */
  entryBytesMax: 160,
  /** Unless configured: 600,000 responses of five IDs, about 20,000 a day. */
  entriesDefault: 3_000_000,
} as const;

/**
 * What is known of the database outside of it, so that a primary that was replaced is refused: by
 * each service that has a schema there.
 */
export const DATABASE_BUCKET = { name: 'database', ageMaxMs: 0, bytesMax: 1024 * 1024 } as const;
const DATABASE_SERVICES = ['billing', 'accounts', 'catalog'] as const;

/** The buckets of the key-value store by their names. */
export const BUCKETS: Readonly<Record<string, BucketOwners>> = {
  catalog: { writtenBy: ['catalog'], readBy: ['edge-proxy', 'admission', 'dashboard'] },
  [ANSWERS_BUCKET.name]: { writtenBy: ['edge-proxy'], readBy: ['edge-proxy'], lookedUp: true },
  [QUOTAS_BUCKET.name]: { writtenBy: ['edge-proxy'], readBy: ['edge-proxy'], lookedUp: true },
  [DATABASE_BUCKET.name]: { writtenBy: DATABASE_SERVICES, readBy: DATABASE_SERVICES, lookedUp: true },
};

const page = { cursor: cursor.nullable(), limit: z.int().min(1).max(PAGE_LIMIT_MAX) };
const nextCursor = z.string().nullable();
/**
 * `inForce`: every edge and admission that is running has said that it decides by this revision.
 * False: some had not after the time that the verb waits; they follow by themselves.
 */
const outcome = { change: z.enum(['created', 'changed', 'unchanged']), revision: count, inForce: z.boolean() };
const management = managementBy('catalog');

/** The credential travels sealed. */
export const catalogPutProvider = request({
  ...management,
  name: 'catalog.put-provider',
  subject: 'catalog.put-provider',
  body: z.object({ id: objectId, spec: providerSpec, sealedCredential, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, provider: providerView }), managementRefusal]),
});

export const catalogPutModel = request({
  ...management,
  name: 'catalog.put-model',
  subject: 'catalog.put-model',
  body: z.object({ id: modelId, spec: modelSpec, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, model: modelView }), managementRefusal]),
});

/** The credential travels sealed. */
export const catalogPutSource = request({
  ...management,
  name: 'catalog.put-source',
  subject: 'catalog.put-source',
  body: z.object({ id: objectId, spec: sourceSpec, sealedCredential, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, source: sourceView }), managementRefusal]),
});

/** Refused with `state_conflict` if the name is a catalog ID. */
export const catalogPutAlias = request({
  ...management,
  name: 'catalog.put-alias',
  subject: 'catalog.put-alias',
  body: z.object({ id: aliasName, spec: aliasSpec, author: commandAuthor }),
  answer: z.union([z.object({ ...outcome, alias: aliasView }), managementRefusal]),
});

export const catalogGetProvider = request({
  ...management,
  name: 'catalog.get-provider',
  subject: 'catalog.get-provider',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ provider: providerView }), managementRefusal]),
});

export const catalogGetModel = request({
  ...management,
  name: 'catalog.get-model',
  subject: 'catalog.get-model',
  body: z.object({ id: modelId }),
  answer: z.union([z.object({ model: modelView }), managementRefusal]),
});

export const catalogGetSource = request({
  ...management,
  name: 'catalog.get-source',
  subject: 'catalog.get-source',
  body: z.object({ id: objectId }),
  answer: z.union([z.object({ source: sourceView }), managementRefusal]),
});

export const catalogGetAlias = request({
  ...management,
  name: 'catalog.get-alias',
  subject: 'catalog.get-alias',
  body: z.object({ id: aliasName }),
  answer: z.union([z.object({ alias: aliasView }), managementRefusal]),
});

export const catalogListProviders = request({
  ...management,
  name: 'catalog.list-providers',
  subject: 'catalog.list-providers',
  body: z.object(page),
  answer: z.union([z.object({ providers: z.array(providerView), nextCursor }), managementRefusal]),
});

/** What is known of each kind of provider; the same for as long as a release runs. */
export const catalogListProfiles = request({
  ...management,
  name: 'catalog.list-profiles',
  subject: 'catalog.list-profiles',
  body: z.object({}),
  answer: z.union([z.object({ profiles: z.array(providerProfile).max(PROFILES_MAX) }), managementRefusal]),
});

export const catalogListModels = request({
  ...management,
  name: 'catalog.list-models',
  subject: 'catalog.list-models',
  body: z.object(page),
  answer: z.union([
    z.object({
      models: z.array(modelView),
      /** Those of them that a source, enabled or not, serves on the messages format. */
      onMessages: z.array(modelId).optional(),
      nextCursor,
    }),
    managementRefusal,
  ]),
});

export const catalogListSources = request({
  ...management,
  name: 'catalog.list-sources',
  subject: 'catalog.list-sources',
  body: z.object({ model: modelId.nullable(), ...page }),
  answer: z.union([z.object({ sources: z.array(sourceView), nextCursor }), managementRefusal]),
});

export const catalogListAliases = request({
  ...management,
  name: 'catalog.list-aliases',
  subject: 'catalog.list-aliases',
  body: z.object(page),
  answer: z.union([z.object({ aliases: z.array(aliasView), nextCursor }), managementRefusal]),
});

/** Keeps the result of a comparison with price lists; another content than before is an alert. */
export const catalogProposePrices = request({
  ...management,
  name: 'catalog.propose-prices',
  subject: 'catalog.propose-prices',
  body: z.object({ proposal: priceProposalPut, author: commandAuthor }),
  answer: z.union([z.object({ proposal: priceProposalSaved }), managementRefusal]),
});

/** Refused with `not_found` until a comparison is stored. */
export const catalogGetPriceProposal = request({
  ...management,
  name: 'catalog.get-price-proposal',
  subject: 'catalog.get-price-proposal',
  body: z.object({}),
  answer: z.union([z.object({ proposal: priceProposalView }), managementRefusal]),
});

/**
 * Refused with `in_use` while a source refers to a provider or model, or an alias to a model. Price
 * and cost versions are never deleted.
 */
export const catalogDelete = request({
  ...management,
  name: 'catalog.delete',
  subject: 'catalog.delete',
  body: z.object({
    kind: z.enum(['provider', 'model', 'source', 'alias']),
    id: z.union([objectId, modelId, aliasName]),
    author: commandAuthor,
  }),
  answer: z.union([z.object({ revision: count, inForce: z.boolean() }), managementRefusal]),
});

/**
 * All objects in one transaction or none. `prune` also deletes every object of the catalog that is
 * not named. A dry run does the same and takes it back.
 */
export const catalogApply = request({
  ...management,
  name: 'catalog.apply',
  subject: 'catalog.apply',
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
  subject: 'catalog.audit',
  body: z.object({ object: z.string().max(200).nullable(), ...page }),
  answer: z.union([z.object({ entries: z.array(auditEntryView), nextCursor }), managementRefusal]),
});

/**
 * What the edges last said of the sources; edges that have been silent for half a minute are left
 * out.
 */
export const catalogSourceHealth = request({
  ...management,
  name: 'catalog.source-health',
  subject: 'catalog.source-health',
  body: z.object(page),
  answer: z.union([z.object({ sources: z.array(sourceHealthView), nextCursor }), managementRefusal]),
});

/**
 * How often a mirror is told at least; a replica that was silent for three of them is taken for
 * gone.
 */
export const CATALOG_MIRRORED_EVERY_MS = 2_000;

/**
 * By which revision of the catalog a replica decides: at once when it changes, else every two
 * seconds.
 */
export const catalogMirrored = published({
  name: 'catalog.mirrored',
  subject: 'catalog.mirrored',
  version: 1,
  sentBy: ['edge-proxy', 'admission'],
  servedBy: ['catalog'],
  reaches: 'all',
  body: z.object({
    /** `<service>.<replica>`, unique per process. */
    replica: z.string().min(1).max(200),
    revision: count,
    /** The replica stops: it is not waited for any more. */
    last: z.boolean(),
  }),
});

/** Sources in one message of an edge about their health. */
export const SOURCE_HEALTH_MAX = 500;
/** How often an edge tells the health of its sources at least. */
export const SOURCE_HEALTH_EVERY_MS = 5_000;

/**
 * What an edge remembers of its sources: of those that it has tried. The catalog shows it to
 * operators, and other edges order their sources by it.
 */
export const edgeHealth = published({
  name: 'edge.health',
  subject: 'edge.health',
  version: 1,
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
          /** Epoch milliseconds; 0: does not. */
          coolUntil: epochMs,
          openUntil: epochMs,
          lastOutcome: z.enum(ATTEMPT_OUTCOMES).nullable(),
          lastStatus: z.int().nullable(),
          lastAt: epochMs.nullable(),
          /** From here on absent in messages of the version before: unknown. */
          /** A call tries it after an open breaker's time: no other edge shall at the same time. */
          probing: z.boolean().optional(),
          /** Since its last attempt here the edge has completed a call at another source. */
          answeredElsewhere: z.boolean().optional(),
          /** Of the last minutes. */
          attempts: count.optional(),
          /** Of these, those that the source failed. */
          errors: count.optional(),
          /** Milliseconds to the head of its answers, a moving average; null: it gave none. */
          firstByteMs: count.nullable().optional(),
          /** Of the attempts, those for which the edge held no share of the quotas. */
          overQuota: count.optional(),
          /** Of all edges, as this one last read it; null: no quota is set, or it is not in use. */
          quota: quotaUse.nullable().optional(),
        }),
      )
      .max(SOURCE_HEALTH_MAX),
  }),
});
