import { z } from 'zod';
import { ENDPOINTS, TOTAL_EXTRAS } from '../messages/scalars.js';

/** The price classes of a model. A profile maps the provider's names to them. */
export const PRICE_CLASSES = ['standard', 'priority', 'flex', 'fast'] as const;
export const priceClass = z.enum(PRICE_CLASSES);
export type PriceClass = z.infer<typeof priceClass>;

/** A unit that is priced per use: one use of a tool that runs at the provider. */
export const priceUnit = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/);
/** Maximum number of different units in a price, a response or a record. */
export const PRICE_UNITS_MAX = 16;

const endpoint = z.enum(ENDPOINTS);
/** A top-level member of a request. */
const fieldName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/);
/** The value of such a member, as text. */
const fieldText = z.string().max(128);
const STEP_NAME = '[a-z0-9_]+(?:\\|[a-z0-9_]+)*';
const CONDITION = '[a-z0-9_]+(?:\\.[a-z0-9_]+)*!?=[A-Za-z0-9_.:-]*(?:\\|[A-Za-z0-9_.:-]*)*';
const STEP = `${STEP_NAME}(?:\\[(?:${CONDITION}(?:,${CONDITION})*)?\\])?`;

/**
 * Path of a value in a response: member names from its top, joined by dots. `a|b` is either name.
 * `name[]` is each item of a list. `name[type=x,action.type=y|z]` is each item whose members have
 * one of these values, and `!=` excludes them. An empty value means an absent member.
 */
export const answerPath = z
  .string()
  .max(200)
  .regex(new RegExp(`^${STEP}(?:\\.${STEP}){0,5}$`));

/** Path of a member of a list item: names joined by dots. */
const memberPath = z.string().regex(/^[a-z0-9_]+(?:\.[a-z0-9_]+){0,2}$/);

/**
 * How a key is sent, or how a request is signed. `sigv4`: AWS Signature Version 4. `google`,
 * `entra`: an expiring token, which is refreshed before it expires.
 */
export const sourceAuth = z.discriminatedUnion('type', [
  z.object({ type: z.literal('bearer') }),
  z.object({ type: z.literal('header'), header: z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/) }),
  z.object({ type: z.literal('sigv4'), service: z.string().min(1).max(64), region: z.string().min(1).max(64) }),
  z.object({ type: z.literal('google'), scope: z.string().min(1).max(256) }),
  z.object({ type: z.literal('entra'), scope: z.string().min(1).max(256) }),
]);

/**
 * Changes to the top-level members of a request. All other bytes are sent unchanged. `set` replaces
 * or adds a member. `rename` is skipped if the new name already exists.
 */
export const bodyRule = z.object({
  set: z.record(fieldName, z.unknown()).optional(),
  remove: z.array(fieldName).max(32).optional(),
  rename: z.record(fieldName, fieldName).optional(),
});
export type BodyRule = z.infer<typeof bodyRule>;
export const bodyRules = z.partialRecord(endpoint, bodyRule);

/**
 * Headers that select a class at some providers. A class rule with such a `field` reads the header
 * and not the body. The header is forwarded only to sources with such a rule.
 */
export const CLASS_HEADERS: readonly string[] = ['x-ms-service-tier', 'x-vertex-ai-llm-shared-request-type'];

/** Maximum names in a list of forwarded headers, and maximum characters of a value. */
export const FORWARD_HEADERS_MAX = 16;
export const FORWARDED_VALUE_LENGTH_MAX = 512;

/** Names of client headers to forward, see {@link mayForward}. */
export const forwardHeaders = z.array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)).max(FORWARD_HEADERS_MAX);

/**
 * Headers of the connection, the body, credentials, the client's address, tracing and the gateway,
 * and headers that select a price class, an API version or an account at the provider.
 */
const NEVER_FORWARDED =
  /^(?:connection|keep-alive|te|trailers?|transfer-encoding|upgrade|expect|host|http2-settings|accept(?:-.*)?|content-.*|if-.*|range|date|origin|referer|user-agent|authorization|.*-authorization|proxy-.*|cookie2?|set-cookie2?|(?:.*-)?api[-_]?key|.*(?:token|secret|password|credential).*|x-goog-.*|x-amz.*|forwarded(?:-.*)?|x-forwarded.*|x-original-.*|x-real-ip|x-cluster-client-ip|x-client-ip|true-client-ip|cf-.*|via|traceparent|tracestate|baggage|b3|x-b3-.*|x-gateway-.*|x-request-id|request-id|x-http-method.*|x-method-override|anthropic-.*|openai-.*)$/;

/** Whether a header of a client may be forwarded to a provider. @param name in lower case */
export function mayForward(name: string): boolean {
  return !NEVER_FORWARDED.test(name) && !CLASS_HEADERS.includes(name);
}

/** How requests select a class, and how responses report the class that served them. */
export const classRule = z.object({
  /** The request's member, or one of {@link CLASS_HEADERS}. */
  field: fieldName,
  /**
   * Classes by value of the field. A request with another value cannot be priced. Absent from a
   * request: standard.
   */
  asks: z.record(fieldText, priceClass),
  /** Path of the class in a response. Null: not reported, and the requested class is billed. */
  answersAt: answerPath.nullable(),
  /** Classes by reported value. Another value is billed as standard and reported to operators. */
  answers: z.record(fieldText, priceClass),
  /**
   * Prefixes of names in `anthropic-beta` that requests for these classes need. They are forwarded
   * if the class has a price, whatever the source's `betas`. Absent: none.
   */
  betas: z.array(z.string().min(1).max(128)).max(8).optional(),
});

/**
 * Selects tools of a request by the `type` of an entry of `tools`. `*` at the end matches any
 * suffix. With `where`, also by members of the entry, whose names are joined by dots: each must
 * have one of the listed values. Null means absent, and an empty list matches any value or none. If
 * `where` lists a member of an object, an unlisted member of that object excludes the tool, so an
 * unknown option never matches.
 */
export const toolType = z.union([
  fieldText,
  z.object({ type: fieldText, where: z.record(memberPath, z.array(fieldText.nullable()).max(16)) }),
]);
export type ToolType = z.infer<typeof toolType>;

/** A tool that runs at the provider and is charged by use. */
export const toolRule = z.object({
  unit: priceUnit,
  /** The tools of a request that select this rule. */
  types: z.array(toolType).max(32),
  /** Top-level members of a request that select this rule, unless they are null or false. */
  fields: z.array(fieldName).max(8),
  /**
   * Path of the number of uses, or of items that are one use each. Null: responses do not report
   * uses, and one use is billed.
   */
  reportedAt: answerPath.nullable(),
  /** Path of the provider's own total. If it exists, items at `reportedAt` are not counted. */
  totalAt: answerPath.optional(),
  /**
   * Members that identify a use: items with the same value of the first existing member are one
   * use. Items without any of them are together one use, if the request selected the tool.
   */
  distinct: z.array(memberPath).min(1).max(4).optional(),
  /**
   * Units of other sizes, if the request does not show which one it uses. The most expensive unit
   * with a price is held and billed.
   */
  otherSizes: z.array(priceUnit).max(7).optional(),
  /** Number of uses in the hold, unless the request sets a lower bound. */
  usesMax: z.int().min(1).max(10_000),
  /** The member of the tool or the request that limits the uses. */
  boundedBy: fieldName.nullable(),
});
export type ToolRule = z.infer<typeof toolRule>;

/** Where a response reports the provider's charge: member names joined by dots. */
export const reportedCostAt = z.object({
  path: z.string().regex(/^[a-z0-9_]+(\.[a-z0-9_]+){0,3}$/),
  /** A tick is 0.0000000001 USD. */
  unit: z.enum(['usd', 'usd_ticks']),
});
export type ReportedCostAt = z.infer<typeof reportedCostAt>;

const tokensOf = (max: number): z.ZodOptional<z.ZodInt> => z.int().min(1).max(max).optional();

/**
 * Maximum input tokens of attachments, for the worst case of a request. Absent: an image has
 * 16,384, a second of audio 32, a second of video 300, and a document fills the model's context.
 */
export const attachmentSizes = z.object({
  imageTokens: tokensOf(1_000_000),
  /** Maximum document pages of a request, and maximum tokens of a page. Set both or neither. */
  documentPages: tokensOf(100_000),
  pageTokens: tokensOf(100_000),
  audioTokensPerSecond: tokensOf(10_000),
  videoTokensPerSecond: tokensOf(100_000),
});
export type AttachmentSizes = z.infer<typeof attachmentSizes>;

/** Parts of requests and responses that cost extra, and parts that cannot be priced. */
export const pricingRules = z.object({
  classes: z.array(classRule).max(4),
  tools: z.array(toolRule).max(32),
  /**
   * Tools that cost only tokens. The tools in a `namespace` are checked one by one. Every other
   * tool has an unknown price.
   */
  freeTools: z.array(toolType).max(128),
  /**
   * Top-level members that change the price in a way that no price covers. An empty list matches
   * any value, else the listed ones match.
   */
  unpricedFields: z.record(fieldName, z.array(fieldText).max(32)),
  /**
   * Path of the reported cost, which becomes the recorded cost of an attempt. Absent: responses
   * report no cost.
   */
  reportedCostAt: reportedCostAt.optional(),
  /**
   * Response values that change the price in a way that no price covers, even if the request did
   * not select them. An empty list matches every value except zero.
   */
  unpricedAnswers: z.record(answerPath, z.array(fieldText).max(32)).optional(),
  /**
   * Path of the name of the model that served the response. Absent: the name can be anything, such
   * as a deployment's.
   */
  modelAt: answerPath.optional(),
});
export type PricingRules = z.infer<typeof pricingRules>;

/** Meaning of an error that is specific to this provider. The first matching rule applies. */
export const errorRule = z.object({
  status: z.int().min(400).max(599).nullable(),
  /** Code or type of the error. */
  code: z.string().max(128).nullable(),
  /** A regular expression that matches the error text, ignoring case. */
  text: z.string().max(200).nullable(),
  class: z.enum([
    'body',
    'content',
    'credential',
    'funds',
    'model',
    'forbidden',
    'not_found',
    'item',
    'quota',
    'overload',
    'late',
  ]),
});
export type ErrorRule = z.infer<typeof errorRule>;

/** The path of an endpoint after the base URL. `{model}` and parameters are filled in. */
const path = z.string().regex(/^\/[\x21-\x7e]{0,1023}$/);
export const profilePath = z.union([path, z.object({ plain: path, streamed: path })]);

/** Model names at the provider. `*` at the end matches any suffix. */
const modelNames = z.array(z.string().min(1).max(128)).min(1).max(32);

/** Name of a profile. */
export const profileId = z.string().regex(/^[a-z][a-z0-9-]{1,40}$/);

/**
 * The settings of a kind of provider: connection, refused fields and usage counting. A source with
 * a profile has all of them and overrides what differs.
 */
export const providerProfile = z.strictObject({
  id: profileId,
  name: z.string().min(1).max(80),
  /** The date on which the profile was compared with the provider's public information. */
  checked: z.iso.date(),
  documentation: z.url().nullable(),
  format: z.enum(['openai', 'anthropic']),
  /** The base URL; null: it differs per deployment. `{name}` is replaced by a parameter. */
  base: z.string().max(512).nullable(),
  parameters: z.record(z.string().regex(/^[a-z][a-zA-Z]{0,31}$/), z.string().max(200)),
  endpoints: z.partialRecord(endpoint, profilePath),
  /** Models with other paths. The first entry that names the model applies. Absent: none. */
  modelPaths: z
    .array(z.object({ models: modelNames, endpoints: z.partialRecord(endpoint, profilePath) }))
    .max(8)
    .optional(),
  /** Authentication methods, the usual one first. An empty list: no key is needed. */
  auth: z.array(sourceAuth).max(8),
  headers: z.record(z.string(), z.string()),
  /** Client headers to forward, in lower case. Absent: none. */
  forwardHeaders: forwardHeaders.optional(),
  betas: z.union([z.enum(['pass', 'standard']), z.array(z.string().max(128)).max(64)]),
  body: bodyRules,
  /** Members of the request format that the provider rejects. Shown on the providers page. */
  refuses: z.array(fieldName).max(32),
  /**
   * Whether a stream ends with usage. `asked`: if the request has `include_usage`. A provider with
   * `always` or `never` does not support `stream_options` and gets none.
   */
  streamUsage: z.enum(['asked', 'always', 'never']),
  totalExtra: z.enum(TOTAL_EXTRAS),
  /**
   * Whether `input_tokens` of the messages endpoints include cached tokens, which the format
   * excludes. Absent: they do not.
   */
  cachedInInput: z.boolean().optional(),
  /** Maximum attachment sizes by the provider's documentation. Absent: the defaults. */
  attachments: attachmentSizes.optional(),
  pricing: pricingRules,
  errors: z.array(errorRule).max(32),
  /** Values of `max_tokens` that mean unlimited. */
  unlimitedMaxTokens: z.array(z.int()).max(4),
  cancelStopsBilling: z.boolean(),
  /** Whether the provider stores responses that later requests can reference. */
  keepsState: z.boolean(),
  /** Whether requests with IDs that the account did not get are forwarded. Absent: `refuse`. */
  foreignIds: z.enum(['refuse', 'forward']).optional(),
  /** The usual environment variable of the key, for `providers add`. Null: none. */
  keyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .nullable(),
  /** Notes for operators, one sentence each. */
  catches: z.array(z.string().max(400)).max(24),
});
export type ProviderProfile = z.infer<typeof providerProfile>;
