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
 * A provider that serves models and invoices for them. The format sets the defaults of its sources:
 * how the key is sent, and which `anthropic-beta` headers are forwarded. The response format
 * depends on the endpoint only.
 */
export const providerSpec = z.object({
  name: label,
  format: z.enum(['openai', 'anthropic']),
  /**
   * How the provider's credential is sent. It applies to sources without their own credential and
   * `auth`. Absent: the source's profile decides.
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

/** Token prices of one class, with its own tiers. */
const classPrices = z.object({
  ...tier,
  tiers: z
    .array(z.object({ aboveInputTokens: z.int().min(1), ...tier }))
    .max(2)
    .optional(),
  /** Prices of tokens that are not text. */
  ...kinds,
});

/**
 * Prices, or a provider's costs, in USD per 1,000,000 tokens. Defaults:
 *
 * - Cached and cache-writing tokens cost as input.
 * - One-hour cache writes cost twice the input on the messages format, else as other cache writes.
 * - A class or a tier has the standard price times the ratio of its input (or output) price to the
 *   standard one.
 *
 * A request for more than the standard class is served only if this has a price here.
 */
export const pricesSpec = z.object({
  ...tier,
  perCall: usdPositive.optional(),
  tiers: z
    .array(z.object({ aboveInputTokens: z.int().min(1), ...tier }))
    .max(8)
    .optional(),
  /** Prices of the other classes that are sold. */
  classes: z
    .object({ priority: classPrices.optional(), flex: classPrices.optional(), fast: classPrices.optional() })
    .optional(),
  /**
   * Prices per 1,000 uses of a tool that runs at the provider: at most 16 units, with six decimal
   * places each.
   */
  unitsPerThousand: z.record(priceUnit, usdPositive).optional(),
  /** Prices of tokens that are not text. Absent: they cost as text. */
  ...kinds,
  /** Absent: from now on. */
  effectiveFrom: instant.optional(),
});
export type PricesSpec = z.infer<typeof pricesSpec>;

export const modelSpec = z.object({
  displayName: label,
  /** Clients do not see an inactive model. */
  active: z.boolean().default(true),
  /** False: requests are refused with `model_not_available`. */
  available: z.boolean().default(true),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().min(1).max(100_000_000).nullish(),
  maxOutputTokens: z.int().min(1).max(100_000_000).nullish(),
  /** Bytes of text per token, for the input bound of the worst case and for estimates of usage. */
  bytesPerToken: z.number().min(0.25).max(16).default(3),
  /** Absent: unchanged. Null: unpriced from now on. */
  prices: pricesSpec.nullish(),
});
export type ModelSpec = z.output<typeof modelSpec>;

/** A name that clients may send instead of a catalog ID. */
export const aliasName = z.string().regex(/^[A-Za-z0-9._:@/-]{1,128}$/);
/** Maximum number of aliases in a catalog. */
export const ALIASES_MAX = 1_000;

export const aliasSpec = z.object({
  /** The model that requests with this name use. */
  modelId,
});

const endpointPath = z.enum(ENDPOINTS);
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/);
const headerValue = z.string().regex(/^[\t\x20-\x7e]{0,1024}$/);
/** Part of a URL: of its host name or its path. */
const parameterValues = z.record(z.string().max(32), z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/));
const limitMs = z.int().min(1).max(600_000);

/** The most that all edges together may send to a source. Null: unlimited. */
export const sourceQuota = z.object({
  /** In any 60 seconds. */
  requestsPerMinute: z.int().min(1).max(10_000_000).nullable(),
  callsAtOnce: z.int().min(1).max(1_000_000).nullable(),
  /** Input and output tokens, approximately. */
  tokensPerMinute: z.int().min(1).max(1_000_000_000_000).nullable(),
});
export type SourceQuota = z.infer<typeof sourceQuota>;

/** One way to reach a model at a provider. */
export const sourceSpec = z.object({
  modelId,
  providerId: objectId,
  /**
   * The profile of the source's provider. Settings that are absent or null come from it. Absent:
   * only the provider's format is known, so `baseUrl` and `endpoints` are required.
   */
  profile: profileId.nullish(),
  /** Values for the parameters of the profile's base URL, such as a region. */
  parameters: parameterValues.optional(),
  /** Without `/v1`. The URL is `baseUrl` and the endpoint's path, or the one in `paths`. */
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .nullish(),
  upstreamModel: lineOfText(512),
  /** Absent: the profile's endpoints for the model's kind. */
  endpoints: z.array(endpointPath).min(1).nullish(),
  paths: z.partialRecord(endpointPath, z.string().regex(/^\/[\x21-\x7e]{0,1023}$/)).optional(),
  auth: sourceAuth.nullish(),
  headers: z.record(headerName, headerValue).optional(),
  /** Client headers to forward. Absent: those of the profile. */
  forwardHeaders: forwardHeaders.nullish(),
  /**
   * Values of a client's `anthropic-beta` header to forward: all (`pass`), all except those that
   * change the price (`standard`), or those of a list. Absent: `standard` if the provider's format
   * is `anthropic`, else none.
   */
  betas: z.union([z.enum(['pass', 'standard']), z.array(lineOfText(128)).max(64)]).nullish(),
  /** Changes to requests, by endpoint, which replace the profile's for that endpoint. */
  body: bodyRules.nullish(),
  /** A lower number is tried first. Equal ones are selected by weight. */
  priority: z.int().min(0).max(1_000).default(0),
  weight: z.int().min(1).max(1_000).default(1),
  enabled: z.boolean().default(true),
  /** Whether the provider supports `stream_options.include_usage`. */
  streamUsage: z.boolean().nullish(),
  /** Whether charges stop when a stream is aborted. False for models with hidden reasoning. */
  cancelStopsBilling: z.boolean().nullish(),
  /**
   * The tokens that `total_tokens` counts beyond input and output: output up to the reasoning that
   * the response reports (`reasoning`), only `output`, or only `input`.
   */
  totalExtra: z.enum(TOTAL_EXTRAS).nullish(),
  /**
   * For a request that has no price: whether this source is skipped, or receives it and any extra
   * charge is not billed.
   */
  unpriced: z.enum(['refuse', 'forward']).default('refuse'),
  /**
   * For a request with the ID of a response, item or container that the account did not get:
   * whether it is refused, or this source receives it. Absent: the profile's setting, which
   * defaults to `refuse`.
   */
  foreignIds: z.enum(['refuse', 'forward']).nullish(),
  /**
   * Types of client-run tools that cost only tokens at this source, in addition to the profile's.
   * `*` at the end matches any suffix. A tool with a per-use price in the profile keeps it.
   */
  freeTools: z
    .array(z.string().regex(/^[A-Za-z0-9_.:-]{1,64}\*?$/))
    .max(32)
    .optional(),
  /** Maximum tokens of attachments, which replace those of the profile and of the model's name. */
  attachments: attachmentSizes.nullish(),
  /** Where responses report their cost. Absent: the profile decides. */
  reportedCostAt: reportedCostAt.nullish(),
  limits: z
    .object({
      headersTimeoutMs: limitMs.nullish(),
      firstEventTimeoutMs: limitMs.nullish(),
      silenceTimeoutMs: limitMs.nullish(),
    })
    .optional(),
  /** A source with a used-up quota is tried last. Absent: no quota. */
  quota: sourceQuota.partial().optional(),
  /** Costs that the provider charges the operator. Absent: unchanged. Null: unknown. */
  costs: pricesSpec.nullish(),
});
export type SourceSpec = z.output<typeof sourceSpec>;

/** A stored price or cost version. Null figures: unpriced from `effectiveFrom`. */
export const versionView = z.object({
  version: objectId,
  effectiveFrom: time,
  figures: z.record(z.string(), z.unknown()).nullable(),
});
export type VersionView = z.infer<typeof versionView>;

/** A provider without its credential, which no response contains. */
export const providerView = z.object({
  id: objectId,
  name: z.string(),
  format: z.enum(['openai', 'anthropic']),
  auth: sourceAuth.nullable().default(null),
  /** Whether the provider has a credential for sources without their own one. */
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
  /** The prices in force, in the form of a PUT. Null: unpriced. */
  prices: pricesSpec.nullable(),
  priceVersion: objectId.nullable(),
  /** Later versions, ascending. */
  upcomingPrices: z.array(versionView),
});
export type ModelView = z.infer<typeof modelView>;

/** A source without its credential, which no response contains. */
export const sourceView = z.object({
  id: objectId,
  modelId,
  providerId: objectId,
  profile: z.string().nullable(),
  parameters: z.record(z.string(), z.string()),
  /** `baseUrl` and the settings below are the source's own values, else those of its profile. */
  baseUrl: z.string(),
  upstreamModel: z.string(),
  endpoints: z.array(z.string()),
  paths: z.record(z.string(), z.string()),
  auth: sourceAuth,
  /** Whether the source has its own credential. */
  hasCredential: z.boolean(),
  /** The owner of the credential that requests use. Null: no stored credential is used. */
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
  /** The costs in force, in the form of a PUT. Null: unknown. */
  costs: pricesSpec.nullable(),
  costVersion: objectId.nullable(),
  upcomingCosts: z.array(versionView),
});
export type SourceView = z.infer<typeof sourceView>;

/**
 * A secret of a source or provider: its text, or the name of an environment variable of the process
 * that reads the file.
 */
export const credentialInput = z.union([
  z.string().regex(/^[ -~]{1,4096}$/, '1 to 4096 printable ASCII characters'),
  z.strictObject({ fromEnv: z.string().regex(/^[A-Z][A-Z0-9_]{0,127}$/) }),
]);
export type CredentialInput = z.infer<typeof credentialInput>;

/**
 * The fields of a PUT: the spec, and the read-only fields of the view. The latter are ignored, so
 * that a client can change one field of a GET response and send it back. Other unknown fields are
 * refused as typing errors.
 */
/** `credential` absent keeps the stored one, and null removes it, also for sources. */
export const providerPut = providerSpec
  .extend({ credential: credentialInput.nullish() })
  .extend({ id: objectId.optional(), hasCredential: z.boolean().optional() });
export const modelPut = modelSpec.extend(
  modelView.pick({ id: true, priceVersion: true, upcomingPrices: true }).partial().shape,
);
export const aliasPut = aliasSpec.extend({ id: aliasName.optional() });
export const sourcePut = sourceSpec
  .extend({ credential: credentialInput.nullish() })
  .extend(sourceView.pick({ id: true, hasCredential: true, costVersion: true, upcomingCosts: true }).partial().shape)
  .extend({ credentialOf: z.enum(['source', 'provider']).nullish() });
export type SourcePut = z.output<typeof sourcePut>;

/** Whether all running edges and admission replicas use this change. False: not yet. */
const inForce = z.boolean();
export const providerSaved = providerView.extend({ inForce });
export const aliasSaved = aliasView.extend({ inForce });
export const modelSaved = modelView.extend({ inForce });
export const sourceSaved = sourceView.extend({ inForce });
