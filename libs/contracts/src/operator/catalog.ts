import { z } from 'zod';
import { ENDPOINTS, TOTAL_EXTRAS } from '../messages/scalars.js';
import {
  attachmentSizes,
  bodyRules,
  forwardHeaders,
  priceUnit,
  profileId,
  reportedCostAt,
  sourceAuth,
} from './profile.js';
import { instant, label, lineOfText, modelId, objectId, time, usdPositive } from './scalars.js';

/**
 * Who serves and invoices. The format decides what sources say that do not say it themselves: how
 * the key is sent, and which `anthropic-beta` headers go on. How an answer is read depends on the
 * endpoint alone.
 */
export const providerSpec = z.object({
  name: label,
  format: z.enum(['openai', 'anthropic']),
  /**
   * How the provider's credential is sent, by sources without one of their own that do not say it
   * themselves. Absent: as each source's profile has it.
   */
  auth: sourceAuth.nullish(),
});
export type ProviderSpec = z.infer<typeof providerSpec>;

const tier = {
  inputPerMillion: usdPositive,
  cachedInputPerMillion: usdPositive.nullish(),
  cacheWritePerMillion: usdPositive.nullish(),
  cacheWrite1hPerMillion: usdPositive.nullish(),
  outputPerMillion: usdPositive,
};

const kinds = {
  audioInputPerMillion: usdPositive.nullish(),
  audioOutputPerMillion: usdPositive.nullish(),
  imageInputPerMillion: usdPositive.nullish(),
  imageOutputPerMillion: usdPositive.nullish(),
};

/** Token prices of one class, by its own tiers. */
const classPrices = z.object({
  ...tier,
  tiers: z
    .array(z.object({ aboveInputTokens: z.int().min(1), ...tier }))
    .max(2)
    .optional(),
  /** Of tokens that are not text. */
  ...kinds,
});

/**
 * Prices, or a provider's costs, in USD per 1,000,000 tokens. Left out, cached and cache-writing
 * tokens cost as input, one-hour cache writes twice the input on the messages format, else as other
 * cache writes, and a class or a tier has the standard price times the ratio of its input (or
 * output) price to the standard one. What a request asks for beyond the standard class is sold only
 * if it has a price here.
 */
export const pricesSpec = z.object({
  ...tier,
  perCall: usdPositive.optional(),
  tiers: z
    .array(z.object({ aboveInputTokens: z.int().min(1), ...tier }))
    .max(8)
    .optional(),
  /** Prices of the classes that are sold beside the standard one. */
  classes: z
    .object({ priority: classPrices.optional(), flex: classPrices.optional(), fast: classPrices.optional() })
    .optional(),
  /** Of 1,000 uses of a tool that runs at the provider: at most 16 units, of six places each. */
  unitsPerThousand: z.record(priceUnit, usdPositive).optional(),
  /** Of tokens that are not text; left out, they cost as text. */
  ...kinds,
  /** Absent: from now on. */
  effectiveFrom: instant.optional(),
});
export type PricesSpec = z.infer<typeof pricesSpec>;

export const modelSpec = z.object({
  displayName: label,
  /** An inactive model is unknown to clients. */
  active: z.boolean().default(true),
  /** The operator's switch: false answers `model_not_available`. */
  available: z.boolean().default(true),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().min(1).max(100_000_000).nullish(),
  maxOutputTokens: z.int().min(1).max(100_000_000).nullish(),
  /** For the input bound of the worst case: bytes of prompt text per token. */
  bytesPerToken: z.number().min(0.25).max(16).default(3),
  /** Absent: unchanged; null: unpriced from now on. */
  prices: pricesSpec.nullish(),
});
export type ModelSpec = z.output<typeof modelSpec>;

/** A name that clients may send instead of a catalog ID. */
export const aliasName = z.string().regex(/^[A-Za-z0-9._:@/-]{1,128}$/);
/** Aliases of one catalog. */
export const ALIASES_MAX = 1_000;

export const aliasSpec = z.object({
  /** The model that the name stands for. */
  modelId,
});
export type AliasSpec = z.output<typeof aliasSpec>;

const endpointPath = z.enum(ENDPOINTS);
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/);
const headerValue = z.string().regex(/^[\t\x20-\x7e]{0,1024}$/);
/** Part of an address: of a host name or of a path. */
const parameterValues = z.record(z.string().max(32), z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/));
const limitMs = z.int().min(1).max(600_000);

/** What a source may be sent by all edges together; null: as much as there is. */
export const sourceQuota = z.object({
  /** In any 60 seconds. */
  requestsPerMinute: z.int().min(1).max(10_000_000).nullable(),
  callsAtOnce: z.int().min(1).max(1_000_000).nullable(),
  /** Of input and output, approximately. */
  tokensPerMinute: z.int().min(1).max(1_000_000_000_000).nullable(),
});
export type SourceQuota = z.infer<typeof sourceQuota>;

/** One way to reach a model at a provider. */
export const sourceSpec = z.object({
  modelId,
  providerId: objectId,
  /**
   * What is known of its provider. Every setting that is absent or null is the profile's. Absent:
   * nothing but the provider's format is known, so `baseUrl` and `endpoints` are needed.
   */
  profile: profileId.nullish(),
  /** What the profile's address leaves open, such as a region. */
  parameters: parameterValues.optional(),
  /**
   * Without `/v1`: the address is `baseUrl` and the endpoint's path, unless `paths` says otherwise.
   */
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .nullish(),
  upstreamModel: lineOfText(512),
  /** Absent: those of the profile that the model's kind has. */
  endpoints: z.array(endpointPath).min(1).nullish(),
  paths: z.partialRecord(endpointPath, z.string().regex(/^\/[\x21-\x7e]{0,1023}$/)).optional(),
  auth: sourceAuth.nullish(),
  headers: z.record(headerName, headerValue).optional(),
  /** Client headers that go on, instead of those of the profile. Absent: those of the profile. */
  forwardHeaders: forwardHeaders.nullish(),
  /**
   * Which of a client's `anthropic-beta` go on: all (`pass`), all but those that change the price
   * (`standard`), or those of a list. Absent: `standard` where the provider's format is
   * `anthropic`, else none.
   */
  betas: z.union([z.enum(['pass', 'standard']), z.array(lineOfText(128)).max(64)]).nullish(),
  /** What is changed in requests, by endpoint, instead of what the profile changes there. */
  body: bodyRules.nullish(),
  /** Lower is tried first; equal ones by weight. */
  priority: z.int().min(0).max(1_000).default(0),
  weight: z.int().min(1).max(1_000).default(1),
  enabled: z.boolean().default(true),
  /** Whether the provider understands `stream_options.include_usage`. */
  streamUsage: z.boolean().nullish(),
  /**
   * Whether the provider stops charging when a stream is aborted. Not for models that reason
   * unseen.
   */
  cancelStopsBilling: z.boolean().nullish(),
  /**
   * What `total_tokens` have more than input and output: output as far as it holds all reasoning
   * that the answer reports (`reasoning`), or all of it `output`, or all of it `input`.
   */
  totalExtra: z.enum(TOTAL_EXTRAS).nullish(),
  /**
   * Of a request for something that has no price: this source is left out, or gets it all the same
   * and what it charges extra is billed to nobody.
   */
  unpriced: z.enum(['refuse', 'forward']).default('refuse'),
  /**
   * Of a request that names a response, item or container which the account did not get: it is
   * refused, or this source gets it all the same. Absent: the profile's, which is `refuse`.
   */
  foreignIds: z.enum(['refuse', 'forward']).nullish(),
  /**
   * Types of tools that cost tokens only here, in addition to those of the profile: tools that the
   * client runs. `*` at the end stands for any ending. A tool that the profile charges by use stays
   * charged.
   */
  freeTools: z
    .array(z.string().regex(/^[A-Za-z0-9_.:-]{1,64}\*?$/))
    .max(32)
    .optional(),
  /** The most tokens of attachments, instead of those of the profile and of the model's name. */
  attachments: attachmentSizes.nullish(),
  /** Where responses report their cost. Absent: as the profile has it. */
  reportedCostAt: reportedCostAt.nullish(),
  limits: z
    .object({
      headersTimeoutMs: limitMs.nullish(),
      firstEventTimeoutMs: limitMs.nullish(),
      silenceTimeoutMs: limitMs.nullish(),
    })
    .optional(),
  /** A source that has used its quota up is tried last. Absent: it has none. */
  quota: sourceQuota.partial().optional(),
  /** What the provider charges us; absent: unchanged, null: unknown. */
  costs: pricesSpec.nullish(),
});
export type SourceSpec = z.output<typeof sourceSpec>;

/** A price or cost version as it is stored; null figures: unpriced from `effectiveFrom` on. */
export const versionView = z.object({
  version: objectId,
  effectiveFrom: time,
  figures: z.record(z.string(), z.unknown()).nullable(),
});
export type VersionView = z.infer<typeof versionView>;

/** Without the credential, which nothing answers. */
export const providerView = z.object({
  id: objectId,
  name: z.string(),
  format: z.enum(['openai', 'anthropic']),
  auth: sourceAuth.nullable().default(null),
  /** Whether it has a credential for those of its sources that have none. */
  hasCredential: z.boolean().default(false),
});
export type ProviderView = z.infer<typeof providerView>;

export const aliasView = z.object({ id: aliasName, modelId });
export type AliasView = z.infer<typeof aliasView>;

export const modelView = z.object({
  id: modelId,
  displayName: z.string(),
  active: z.boolean(),
  available: z.boolean(),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().nullable(),
  maxOutputTokens: z.int().nullable(),
  bytesPerToken: z.number(),
  /** The prices in force, in the form in which they are put; null: unpriced. */
  prices: pricesSpec.nullable(),
  priceVersion: objectId.nullable(),
  /** Versions that begin later, ascending. */
  upcomingPrices: z.array(versionView),
});
export type ModelView = z.infer<typeof modelView>;

/** Without the credential, which nothing answers. */
export const sourceView = z.object({
  id: objectId,
  modelId,
  providerId: objectId,
  profile: z.string().nullable(),
  parameters: z.record(z.string(), z.string()),
  /** This and the settings below: the source's own, else those of its profile. */
  baseUrl: z.string(),
  upstreamModel: z.string(),
  endpoints: z.array(z.string()),
  paths: z.record(z.string(), z.string()),
  auth: sourceAuth,
  /** One of its own. */
  hasCredential: z.boolean(),
  /** Whose credential it is called with; null: none that is kept here. */
  credentialOf: z.enum(['source', 'provider']).nullable().default(null),
  headers: z.record(z.string(), z.string()),
  forwardHeaders: z.array(z.string()),
  betas: z.union([z.enum(['pass', 'standard']), z.array(z.string())]),
  body: bodyRules,
  priority: z.int(),
  weight: z.int(),
  enabled: z.boolean(),
  streamUsage: z.boolean(),
  cancelStopsBilling: z.boolean(),
  totalExtra: z.enum(TOTAL_EXTRAS),
  unpriced: z.enum(['refuse', 'forward']),
  foreignIds: z.enum(['refuse', 'forward']),
  freeTools: z.array(z.string()).default([]),
  attachments: attachmentSizes.default({}),
  reportedCostAt: reportedCostAt.nullable().default(null),
  limits: z.object({
    headersTimeoutMs: z.int().nullable(),
    firstEventTimeoutMs: z.int().nullable(),
    silenceTimeoutMs: z.int().nullable(),
  }),
  quota: sourceQuota,
  /** What the provider charges us now, in the form in which it is put; null: unknown. */
  costs: pricesSpec.nullable(),
  costVersion: objectId.nullable(),
  upcomingCosts: z.array(versionView),
});
export type SourceView = z.infer<typeof sourceView>;

/**
 * A secret of a source or provider: as it is, or the name of a variable in the environment of
 * whoever reads the file.
 */
export const credentialInput = z.union([
  z.string().regex(/^[ -~]{1,4096}$/, '1 to 4096 printable ASCII characters'),
  z.strictObject({ fromEnv: z.string().regex(/^[A-Z][A-Z0-9_]{0,127}$/) }),
]);
export type CredentialInput = z.infer<typeof credentialInput>;

/**
 * What a PUT takes: the spec, and those fields of the object's own view that nobody sets. They are
 * ignored, so that what a GET answered can be put again with one field changed. Every other unknown
 * field is a misspelt one and refused.
 */
/** Here and of a source: `credential` absent keeps the stored one, null removes it. */
export const providerPut = providerSpec
  .extend({ credential: credentialInput.nullish() })
  .extend({ id: objectId.optional(), hasCredential: z.boolean().optional() });
export type ProviderPut = z.output<typeof providerPut>;
export const modelPut = modelSpec.extend(
  modelView.pick({ id: true, priceVersion: true, upcomingPrices: true }).partial().shape,
);
export const aliasPut = aliasSpec.extend({ id: aliasName.optional() });
export const sourcePut = sourceSpec
  .extend({ credential: credentialInput.nullish() })
  .extend(sourceView.pick({ id: true, hasCredential: true, costVersion: true, upcomingCosts: true }).partial().shape)
  .extend({ credentialOf: z.enum(['source', 'provider']).nullish() });
export type SourcePut = z.output<typeof sourcePut>;

/**
 * Whether every edge and every admission that is running decides by this change; else they will
 * shortly.
 */
const inForce = z.boolean();
export const providerSaved = providerView.extend({ inForce });
export const aliasSaved = aliasView.extend({ inForce });
export const modelSaved = modelView.extend({ inForce });
export const sourceSaved = sourceView.extend({ inForce });
