import { z } from 'zod';
import { ENDPOINTS, TOTAL_EXTRAS } from '../messages/scalars.js';

/**
 * The price classes of a model. Providers have names of their own for them, which a profile maps to
 * these.
 */
export const PRICE_CLASSES = ['standard', 'priority', 'flex', 'fast'] as const;
export const priceClass = z.enum(PRICE_CLASSES);
export type PriceClass = z.infer<typeof priceClass>;

/** What is sold by the piece: one use of a tool that runs at the provider. */
export const priceUnit = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/);
/** The largest number of different units that a price, an answer or a record has. */
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
 * The place of a value in a response: member names from its top, joined by dots. `a|b` is either
 * name. `name[]` is each item of a list. `name[type=x,action.type=y|z]` is each item whose members
 * have one of these values, `!=` none of them; an empty value stands for an absent member.
 */
export const answerPath = z
  .string()
  .max(200)
  .regex(new RegExp(`^${STEP}(?:\\.${STEP}){0,5}$`));

/** A member of a list's item: names joined by dots. */
const memberPath = z.string().regex(/^[a-z0-9_]+(?:\.[a-z0-9_]+){0,2}$/);

/**
 * How a key is sent, or how a request is signed. `sigv4`: AWS Signature Version 4. `google`,
 * `entra`: a token that expires and is fetched ahead of its end.
 */
export const sourceAuth = z.discriminatedUnion('type', [
  z.object({ type: z.literal('bearer') }),
  z.object({ type: z.literal('header'), header: z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/) }),
  z.object({ type: z.literal('sigv4'), service: z.string().min(1).max(64), region: z.string().min(1).max(64) }),
  z.object({ type: z.literal('google'), scope: z.string().min(1).max(256) }),
  z.object({ type: z.literal('entra'), scope: z.string().min(1).max(256) }),
]);
export type SourceAuth = z.infer<typeof sourceAuth>;

/**
 * What is changed in a request's top-level members before it is sent; every other byte goes as it
 * came. `set` replaces or adds a member, `rename` is left out where the new name is there already.
 */
export const bodyRule = z.object({
  set: z.record(fieldName, z.unknown()).optional(),
  remove: z.array(fieldName).max(32).optional(),
  rename: z.record(fieldName, fieldName).optional(),
});
export type BodyRule = z.infer<typeof bodyRule>;
export const bodyRules = z.partialRecord(endpoint, bodyRule);
export type BodyRules = z.infer<typeof bodyRules>;

/**
 * Headers by which a request asks for a class at some providers. A class rule whose `field` is one
 * of them reads the header, never the body; the header goes on to sources with such a rule alone.
 */
export const CLASS_HEADERS: readonly string[] = ['x-ms-service-tier', 'x-vertex-ai-llm-shared-request-type'];

/** Most names in a list of forwarded headers, and the longest value of one, in characters. */
export const FORWARD_HEADERS_MAX = 16;
export const FORWARDED_VALUE_LENGTH_MAX = 512;

/** Names of client headers that go on to a provider: see {@link mayForward}. */
export const forwardHeaders = z.array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/)).max(FORWARD_HEADERS_MAX);

/**
 * Headers of the connection, the body, credentials, the client's address, tracing and the gateway;
 * and those that choose a price class, an API version or an account at the provider.
 */
const NEVER_FORWARDED =
  /^(?:connection|keep-alive|te|trailers?|transfer-encoding|upgrade|expect|host|http2-settings|accept(?:-.*)?|content-.*|if-.*|range|date|origin|referer|user-agent|authorization|.*-authorization|proxy-.*|cookie2?|set-cookie2?|(?:.*-)?api[-_]?key|.*(?:token|secret|password|credential).*|x-goog-.*|x-amz.*|forwarded(?:-.*)?|x-forwarded.*|x-original-.*|x-real-ip|x-cluster-client-ip|x-client-ip|true-client-ip|cf-.*|via|traceparent|tracestate|baggage|b3|x-b3-.*|x-gateway-.*|x-request-id|request-id|x-http-method.*|x-method-override|anthropic-.*|openai-.*)$/;

/** Whether a header of a client may be forwarded to a provider. @param name in lower case */
export function mayForward(name: string): boolean {
  return !NEVER_FORWARDED.test(name) && !CLASS_HEADERS.includes(name);
}

/** Which class a request asks for, and which one an answer says that it was served in. */
export const classRule = z.object({
  /** The request's member, or one of {@link CLASS_HEADERS}. */
  field: fieldName,
  /** Its values. A request with another value cannot be priced. Absent from a request: standard. */
  asks: z.record(fieldText, priceClass),
  /** Null: the answer does not tell, and the class that was asked for is billed. */
  answersAt: answerPath.nullable(),
  /** What the answer says. Another value is billed as standard, and its operator is told. */
  answers: z.record(fieldText, priceClass),
  /**
   * Beginnings of the betas that a request for a class needs. They go on where such a class is
   * asked for and sold, whatever the source's `betas` say. Absent: none.
   */
  betas: z.array(z.string().min(1).max(128)).max(8).optional(),
});
export type ClassRule = z.infer<typeof classRule>;

/**
 * Selects tools of a request: the `type` of an entry of `tools`, where `*` at the end stands for
 * any ending. With `where`, also by members of the entry, whose names are joined by dots: each must
 * have one of the listed values. Null stands for absent, an empty list for any value or none. A
 * member below one that `where` names must be named too, so an unknown option never passes.
 */
export const toolType = z.union([
  fieldText,
  z.object({ type: fieldText, where: z.record(memberPath, z.array(fieldText.nullable()).max(16)) }),
]);
export type ToolType = z.infer<typeof toolType>;

/** A tool that runs at the provider and is charged by use. */
export const toolRule = z.object({
  unit: priceUnit,
  /** The tools of a request that ask for it. */
  types: z.array(toolType).max(32),
  /** Top-level members of a request that ask for it by being there, and neither null nor false. */
  fields: z.array(fieldName).max(8),
  /**
   * The number of uses, or the items that each are one use. Null: the response does not report
   * them, and one use is billed.
   */
  reportedAt: answerPath.nullable(),
  /** The provider's own total: where a response has it, items at `reportedAt` do not count. */
  totalAt: answerPath.optional(),
  /**
   * Items with the same value of the first of these members that they have are one use in a
   * response. Items without any are one use together, if the request asked for the tool.
   */
  distinct: z.array(memberPath).min(1).max(4).optional(),
  /**
   * Units of other sizes, where the request does not show which one it uses. The most expensive one
   * with a price is held and billed.
   */
  otherSizes: z.array(priceUnit).max(7).optional(),
  /** Uses that the hold assumes where the request bounds them no lower. */
  usesMax: z.int().min(1).max(10_000),
  /** The tool's member, or the request's, that bounds them. */
  boundedBy: fieldName.nullable(),
});
export type ToolRule = z.infer<typeof toolRule>;

/** Where a response reports what the provider charges for it, in members joined by dots. */
export const reportedCostAt = z.object({
  path: z.string().regex(/^[a-z0-9_]+(\.[a-z0-9_]+){0,3}$/),
  /** A tick is 0.0000000001 USD. */
  unit: z.enum(['usd', 'usd_ticks']),
});
export type ReportedCostAt = z.infer<typeof reportedCostAt>;

const tokensOf = (max: number): z.ZodOptional<z.ZodInt> => z.int().min(1).max(max).optional();

/**
 * The most input tokens of attachments, for the worst case of a request. Absent: an image has
 * 16,384, a second of audio 32, a second of video 300, and a document fills the model's context.
 */
export const attachmentSizes = z.object({
  imageTokens: tokensOf(1_000_000),
  /** Pages of documents that a request can have, and the most tokens of one: both or neither. */
  documentPages: tokensOf(100_000),
  pageTokens: tokensOf(100_000),
  audioTokensPerSecond: tokensOf(10_000),
  videoTokensPerSecond: tokensOf(100_000),
});
export type AttachmentSizes = z.infer<typeof attachmentSizes>;

/** What of a request costs extra, and what cannot be priced. */
export const pricingRules = z.object({
  classes: z.array(classRule).max(4),
  tools: z.array(toolRule).max(32),
  /**
   * Tools that cost nothing but tokens. The tools in a `namespace` are judged one by one. Every
   * other tool has an unknown price.
   */
  freeTools: z.array(toolType).max(128),
  /**
   * Top-level members that change the price in a way that no price has. An empty list: by being
   * there; else with one of these values.
   */
  unpricedFields: z.record(fieldName, z.array(fieldText).max(32)),
  /** Becomes the recorded cost of an attempt. Absent: the response reports no cost. */
  reportedCostAt: reportedCostAt.optional(),
  /**
   * Values of a response that change its price in a way that no price has, whoever asked for them.
   * An empty list: any value but zero.
   */
  unpricedAnswers: z.record(answerPath, z.array(fieldText).max(32)).optional(),
  /**
   * Where a response names the model that answered. Absent: it may have any name, such as that of a
   * deployment.
   */
  modelAt: answerPath.optional(),
});
export type PricingRules = z.infer<typeof pricingRules>;

/** What an error means at this provider and not elsewhere. The first rule that fits counts. */
export const errorRule = z.object({
  status: z.int().min(400).max(599).nullable(),
  /** Code or type, as the error has it. */
  code: z.string().max(128).nullable(),
  /** A regular expression that its text matches, in any case. */
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

/** The path of an endpoint after the base; `{model}` and the profile's parameters are filled in. */
const path = z.string().regex(/^\/[\x21-\x7e]{0,1023}$/);
export const profilePath = z.union([path, z.object({ plain: path, streamed: path })]);

/** Names of models at their provider; one that ends with `*` stands for all that begin so. */
const modelNames = z.array(z.string().min(1).max(128)).min(1).max(32);

/** Names a profile. */
export const profileId = z.string().regex(/^[a-z][a-z0-9-]{1,40}$/);

/**
 * How a kind of provider is connected, what it refuses and how it counts. A source that names a
 * profile has all of it, and overrides what differs.
 */
export const providerProfile = z.strictObject({
  id: profileId,
  name: z.string().min(1).max(80),
  /** The day on which it was compared with public reports of the provider. */
  checked: z.iso.date(),
  documentation: z.url().nullable(),
  format: z.enum(['openai', 'anthropic']),
  /** The base address; null: there is none that all have. `{name}` is filled in from parameters. */
  base: z.string().max(512).nullable(),
  parameters: z.record(z.string().regex(/^[a-z][a-zA-Z]{0,31}$/), z.string().max(200)),
  endpoints: z.partialRecord(endpoint, profilePath),
  /** Models that have other paths: the first that names the source's model counts. Absent: none. */
  modelPaths: z
    .array(z.object({ models: modelNames, endpoints: z.partialRecord(endpoint, profilePath) }))
    .max(8)
    .optional(),
  /** The ways to be let in; the first is the usual one. An empty list: no key is needed. */
  auth: z.array(sourceAuth).max(8),
  headers: z.record(z.string(), z.string()),
  /** Headers of clients that go on, in lower case. Absent: none. */
  forwardHeaders: forwardHeaders.optional(),
  betas: z.union([z.enum(['pass', 'standard']), z.array(z.string().max(128)).max(64)]),
  body: bodyRules,
  /** Members of requests that its format has and that it answers with an error. For the page. */
  refuses: z.array(fieldName).max(32),
  /**
   * Whether usage ends a stream: `asked`, when `include_usage` asks for it. A provider with
   * `always`
   * or `never` knows no `stream_options`, and gets none.
   */
  streamUsage: z.enum(['asked', 'always', 'never']),
  totalExtra: z.enum(TOTAL_EXTRAS),
  /**
   * On messages endpoints `input_tokens` have what came from the cache too, against the format;
   * absent: they do not.
   */
  cachedInInput: z.boolean().optional(),
  /** The most that attachments can be, by its documents. Absent: the defaults of all providers. */
  attachments: attachmentSizes.optional(),
  pricing: pricingRules,
  errors: z.array(errorRule).max(32),
  /** Values of `max_tokens` that bound nothing. */
  unlimitedMaxTokens: z.array(z.int()).max(4),
  cancelStopsBilling: z.boolean(),
  /** Whether it keeps answers that later requests name. */
  keepsState: z.boolean(),
  /** Whether requests with IDs that the account did not get go on; absent: `refuse`. */
  foreignIds: z.enum(['refuse', 'forward']).optional(),
  /** The usual variable of a key, for `providers add`; null: it has none. */
  keyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/)
    .nullable(),
  /** What an operator should know, a sentence each. */
  catches: z.array(z.string().max(400)).max(24),
});
export type ProviderProfile = z.infer<typeof providerProfile>;
