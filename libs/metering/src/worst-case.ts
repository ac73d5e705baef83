import { requireCount, saturate } from './counts.js';
import { AMOUNT_NANO_USD_MAX, clampAmount, maxAmount, minAmount } from './money.js';
import type { NanoUsd } from './money.js';
import { STANDARD_SERVICE } from './price-extras.js';
import type { Served } from './price-extras.js';
import { TOKENS_PER_PRICE, computeUnitCosts } from './price.js';
import type { PriceFigures } from './price-extras.js';
import { resolveClass } from './resolve-prices.js';
import type { ResolvedClass, ResolvedPrices } from './resolve-prices.js';

/**
 * Output tokens assumed for a request that sets no maximum
 * (libs/contracts/specification/model-gateway-api.md#api-key-managed-in-the-dashboard).
 */
export const OUTPUT_TOKENS_DEFAULT = 8192;
/** Bytes of prompt text per token, unless the catalog has another value. */
export const BYTES_PER_TOKEN_DEFAULT = 3;
/**
 * Most input tokens of an image, unless a source has another figure: 12 megapixels in patches of 32
 * × 32, times 1.2, rounded up to a power of two (platform.openai.com, Images and vision).
 */
export const IMAGE_TOKENS_MAX = 16_384;
/**
 * Most input tokens of all attachments, or of one document, for a model without a known context:
 * 600 pages of 3,000 tokens of text, each also an image of 4,784 tokens (platform.claude.com, PDF
 * support). It exceeds the largest body read as text.
 */
const DOCUMENT_TOKENS_MAX = 600 * (3_000 + 4_784);
/** Decoded bytes of a document per token: text without compression. */
const DOCUMENT_BYTES_PER_TOKEN = 4;
/**
 * Most tokens of a second of audio, unless a source has another figure (ai.google.dev, Audio
 * understanding).
 */
const AUDIO_TOKENS_PER_SECOND = 32;
/**
 * Fewest bytes of a second of audio: AMR at 4.75 kbit/s (3GPP TS 26.071). No common speech codec
 * has a lower rate.
 */
const AUDIO_BYTES_PER_SECOND = 594;
/**
 * Most tokens of a second of video with its sound, unless a source has another figure
 * (ai.google.dev, Video understanding).
 */
const VIDEO_TOKENS_PER_SECOND = 300;
/** Fewest bytes of a second of video: a still picture with speech at 9.6 kbit/s. */
const VIDEO_BYTES_PER_SECOND = 1_200;
/**
 * Input tokens of an attachment in an estimate, and its minimum in a hold: a typical image or a
 * page of a document.
 */
const ATTACHMENT_TOKENS_USUAL = 2_000;
/** Most bytes of prompt text expected per token: the divisor of the least cost. */
const BYTES_PER_TOKEN_MOST = 8n;
/** `bytesPerToken` has steps of 1/1000, so that the division is exact. */
const BYTES_PER_TOKEN_SCALE = 1000;

/** The size of a parsed request. Each field is a safe non-negative integer. */
export interface CallBounds {
  /** UTF-8 bytes of prompt text, without the base64 of attachments. */
  promptBytes: number;
  /** Elements of integer arrays: prompts or embedding inputs given as tokens. */
  arrayElements: number;
  /** Images, files, audio and video parts. */
  attachments: number;
  /** Result of {@link outputTokensMax}; 0 for embeddings. */
  outputTokensMax: number;
  /** The attachments other than images. Absent: all are images. */
  files?: FileBounds | undefined;
}

/**
 * Attachments by kind, with their decoded bytes. An attachment outside the request (a URL, a file
 * ID) counts as the largest document of the endpoint. An unknown kind counts as a document.
 */
export interface FileBounds {
  documents: number;
  documentBytes: number;
  audios: number;
  audioBytes: number;
  videos: number;
  videoBytes: number;
}

/** The most input tokens of attachments at one source. Absent: the gateway's default. */
export interface AttachmentSizes {
  /** Tokens of an image. */
  imageTokens?: number | undefined;
  /** Pages of documents in a request; needs `pageTokens`. */
  documentPages?: number | undefined;
  /** Tokens of a page of a document. Absent: only the model's context limits a document. */
  pageTokens?: number | undefined;
  audioTokensPerSecond?: number | undefined;
  videoTokensPerSecond?: number | undefined;
}

/** Catalog values of a model for converting sizes into tokens. */
export interface BoundFigures {
  /** At least 0.001, in steps of 0.001, for example 3 or 2.5. */
  bytesPerToken: number;
  /** Most input tokens of an image. */
  attachmentTokens: number;
  /** Most input tokens of a document. Null or absent: the model's context. */
  documentTokens?: number | null | undefined;
  /** Absent: {@link AUDIO_TOKENS_PER_SECOND}. */
  audioTokensPerSecond?: number | undefined;
  /** Absent: {@link VIDEO_TOKENS_PER_SECOND}. */
  videoTokensPerSecond?: number | undefined;
  /** The model's context in tokens, which limits attachments. Null or absent: unknown. */
  contextLength?: number | null | undefined;
}

/**
 * Returns the figures of a model for one call: for each kind of attachment the highest figure of
 * the sources.
 * @param model its catalog values; undefined: unknown
 * @param sources all sources that may serve the call; empty: the defaults apply
 */
export function boundFigures(
  model: { readonly bytesPerToken: number; readonly contextLength: number | null } | undefined,
  sources: readonly (AttachmentSizes | undefined)[],
): BoundFigures {
  const most = (size: (sizes: AttachmentSizes) => number | undefined, byDefault: number): number =>
    sources.length === 0 ? byDefault : Math.max(...sources.map((sizes) => size(sizes ?? {}) ?? byDefault));
  const documentTokens = most(({ documentPages, pageTokens }) => product(documentPages, pageTokens), Infinity);
  return {
    bytesPerToken: model?.bytesPerToken ?? BYTES_PER_TOKEN_DEFAULT,
    attachmentTokens: most(({ imageTokens }) => imageTokens, IMAGE_TOKENS_MAX),
    documentTokens: documentTokens === Infinity ? null : documentTokens,
    audioTokensPerSecond: most((sizes) => sizes.audioTokensPerSecond, AUDIO_TOKENS_PER_SECOND),
    videoTokensPerSecond: most((sizes) => sizes.videoTokensPerSecond, VIDEO_TOKENS_PER_SECOND),
    contextLength: model?.contextLength ?? null,
  };
}

function product(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one * other;
}

/** The fields of a request that bound its output. `null` and absent mean unset. */
export interface OutputRequest {
  /**
   * Prompts in the request: 1, or the number of prompts in a list; 0 for endpoints without output
   * tokens.
   */
  prompts: number;
  n?: number | null;
  bestOf?: number | null;
  /**
   * The limits of the endpoint itself. 0 also means unset, because providers interpret it
   * differently.
   */
  maxTokens: readonly (number | null | undefined)[];
  /** Limits of other endpoints. They raise the bound and never lower it. */
  otherMaxTokens?: readonly (number | null | undefined)[];
}

type InputBounds = Omit<CallBounds, 'outputTokensMax'>;

/**
 * Computes the input bound of docs/behaviour.md#worst-case: bytes ÷ bytesPerToken rounded up, plus
 * array elements, plus the maximum of each attachment. Attachments fill at most the model's
 * context, or {@link DOCUMENT_TOKENS_MAX} tokens if it is unknown. At most
 * `Number.MAX_SAFE_INTEGER`.
 * @throws RangeError for an invalid count or a `bytesPerToken` below 0.001
 */
export function inputTokensBound(bounds: InputBounds, figures: BoundFigures): number {
  const { files } = bounds;
  const others = files === undefined ? 0 : files.documents + files.audios + files.videos;
  const images = Math.max(0, requireCount(bounds.attachments, 'attachments') - others);
  const imageTokens = saturate(images * requireCount(figures.attachmentTokens, 'attachmentTokens'));
  return withAttachments(
    bounds,
    figures,
    saturate(imageTokens + (files === undefined ? 0 : fileTokens(files, figures))),
  );
}

/**
 * Estimates the input of a call like {@link inputTokensBound}, but with a typical size of each
 * attachment. Never above the bound.
 */
export function usualInputTokens(bounds: InputBounds, figures: BoundFigures): number {
  const usual = withAttachments(bounds, figures, saturate(bounds.attachments * ATTACHMENT_TOKENS_USUAL));
  return bounds.attachments === 0 ? usual : Math.min(usual, inputTokensBound(bounds, figures));
}

function withAttachments(bounds: InputBounds, figures: BoundFigures, attachmentTokens: number): number {
  const bytesTokens = tokensOfBytes(requireCount(bounds.promptBytes, 'promptBytes'), figures.bytesPerToken);
  const textTokens = saturate(bytesTokens + requireCount(bounds.arrayElements, 'arrayElements'));
  const most = saturate(textTokens + attachmentTokens);
  return Math.max(textTokens, Math.min(most, figures.contextLength ?? DOCUMENT_TOKENS_MAX));
}

function fileTokens(files: FileBounds, figures: BoundFigures): number {
  const perDocument = figures.documentTokens ?? figures.contextLength ?? DOCUMENT_TOKENS_MAX;
  const perAudioByte = (figures.audioTokensPerSecond ?? AUDIO_TOKENS_PER_SECOND) / AUDIO_BYTES_PER_SECOND;
  const perVideoByte = (figures.videoTokensPerSecond ?? VIDEO_TOKENS_PER_SECOND) / VIDEO_BYTES_PER_SECOND;
  const sizes = [
    requireCount(files.documents, 'documents') * perDocument,
    requireCount(files.documentBytes, 'documentBytes') / DOCUMENT_BYTES_PER_TOKEN,
    (requireCount(files.audios, 'audios') + requireCount(files.videos, 'videos')) * ATTACHMENT_TOKENS_USUAL,
    requireCount(files.audioBytes, 'audioBytes') * perAudioByte,
    requireCount(files.videoBytes, 'videoBytes') * perVideoByte,
  ];
  return sizes.reduce((sum, tokens) => saturate(sum + Math.ceil(tokens)), 0);
}

/** Returns the tokens of a text, rounded up; at most `Number.MAX_SAFE_INTEGER`. */
export function tokensOfBytes(bytes: number, bytesPerToken: number): number {
  const scaled = Math.round(bytesPerToken * BYTES_PER_TOKEN_SCALE);
  if (!Number.isSafeInteger(scaled) || scaled < 1)
    throw new RangeError(`bytesPerToken is out of range: ${bytesPerToken}`);
  const scaledBytes = bytes * BYTES_PER_TOKEN_SCALE;
  if (!Number.isSafeInteger(scaledBytes)) {
    return saturate(Number(divideUp(BigInt(bytes) * BigInt(BYTES_PER_TOKEN_SCALE), BigInt(scaled))));
  }
  // Both divisions have integer results, which doubles represent exactly.
  const rest = scaledBytes % scaled;
  return (scaledBytes - rest) / scaled + (rest > 0 ? 1 : 0);
}

/**
 * Computes the highest cost of a call within its bounds (docs/behaviour.md#worst-case): the highest
 * input price of any kind and any tier that the input bound reaches, the highest output price of
 * those tiers, the price per call, and the requested units. The standard class counts in addition
 * to the requested class, because the provider may serve either. Rounded up, at most
 * `AMOUNT_NANO_USD_MAX`. A usage within the bounds never costs more.
 * @param asked absent: the standard class without units
 * @throws RangeError as {@link inputTokensBound}
 */
export function worstCase(
  bounds: CallBounds,
  figures: BoundFigures,
  price: PriceFigures,
  asked: Served = STANDARD_SERVICE,
): NanoUsd {
  const inputBound = inputTokensBound(bounds, figures);
  const outputBound = requireCount(bounds.outputTokensMax, 'outputTokensMax');
  const standard = findHighestPrices(resolveClass(price, 'standard'), inputBound);
  const ofClass = findHighestPrices(resolveClass(price, asked.class), inputBound);
  const input = maxAmount(standard.input, ofClass.input);
  const output = maxAmount(standard.output, ofClass.output);
  const millionths = BigInt(inputBound) * input + BigInt(outputBound) * output;
  const whole = divideUp(millionths, TOKENS_PER_PRICE) + price.perCall + computeUnitCosts(asked, price.extras);
  return clampAmount(whole, 0n, AMOUNT_NANO_USD_MAX);
}

/** The highest prices of a token while the input is at most `inputTokensMax`. */
interface HighestPrices {
  readonly inputTokensMax: number;
  readonly input: bigint;
  readonly output: bigint;
}

const highestPrices = new WeakMap<ResolvedClass, readonly HighestPrices[]>();

/** Returns the highest prices at this input. Cached, because each call of a model needs them. */
function findHighestPrices(price: ResolvedClass, inputTokens: number): HighestPrices {
  let spans = highestPrices.get(price);
  if (spans === undefined) highestPrices.set(price, (spans = computePriceSpans(price)));
  return spans.find(({ inputTokensMax }) => inputTokens <= inputTokensMax) as HighestPrices;
}

/** Ordered by input; the last span has no upper limit. */
function computePriceSpans({ tiers, ...base }: ResolvedClass): HighestPrices[] {
  return [base, ...tiers].map((_last, index) => {
    const reached = [base, ...tiers.slice(0, index)];
    return {
      inputTokensMax: tiers[index]?.aboveInputTokens ?? Infinity,
      input: maxAmount(
        0n,
        ...reached.flatMap((prices) => [
          ...textInputPrices(prices),
          prices.audioInputPerMillion,
          prices.imageInputPerMillion,
        ]),
      ),
      output: maxAmount(
        0n,
        ...reached.flatMap(({ outputPerMillion, audioOutputPerMillion, imageOutputPerMillion }) => [
          outputPerMillion,
          audioOutputPerMillion,
          imageOutputPerMillion,
        ]),
      ),
    };
  });
}

/** Returns the possible prices of a text token in the input. */
function textInputPrices(prices: ResolvedPrices): readonly [bigint, ...bigint[]] {
  return [
    prices.inputPerMillion,
    prices.cachedInputPerMillion,
    prices.cacheWritePerMillion,
    prices.cacheWrite1hPerMillion,
  ];
}

/**
 * Computes the minimum that a plan-funded call must be able to pay (docs/behaviour.md#who-pays):
 * prompt bytes ÷ 8 at the cheapest input price of any kind and tier of the standard or the
 * requested class, rounded down, plus the price per call. At most `AMOUNT_NANO_USD_MAX`; not above
 * the worst case while `bytesPerToken` is at most 8.
 * @param asked absent: the standard class
 * @throws RangeError for an invalid count
 */
export function leastCost(
  bounds: Pick<CallBounds, 'promptBytes'>,
  price: PriceFigures,
  asked: Served = STANDARD_SERVICE,
): NanoUsd {
  const [standard, ofClass] = [resolveClass(price, 'standard'), resolveClass(price, asked.class)];
  const tables = [...standard.tiers, ofClass, ...ofClass.tiers];
  const cheapestInput = minAmount(...textInputPrices(standard), ...tables.flatMap(textInputPrices));
  const millionths = BigInt(requireCount(bounds.promptBytes, 'promptBytes')) * cheapestInput;
  const promptCost = millionths / (BYTES_PER_TOKEN_MOST * TOKENS_PER_PRICE);
  return clampAmount(promptCost + price.perCall, 0n, AMOUNT_NANO_USD_MAX);
}

/**
 * Output bound of docs/behaviour.md#worst-case: prompts × max(n, best_of) × the largest of the
 * endpoint's own limits that are set, else {@link OUTPUT_TOKENS_DEFAULT}. Numbers too large to
 * count (JSON `1e999`) saturate at `Number.MAX_SAFE_INTEGER`.
 * @throws RangeError for NaN
 */
export function outputTokensMax(request: OutputRequest): number {
  const own = largestLimit(request.maxTokens);
  const tokens = Math.max(own === 0 ? OUTPUT_TOKENS_DEFAULT : own, largestLimit(request.otherMaxTokens ?? []));
  const choices = wholeCount(Math.max(1, request.n ?? 1, request.bestOf ?? 1));
  return saturate(wholeCount(request.prompts) * saturate(choices * tokens));
}

/** 0 if none is set. */
function largestLimit(limits: readonly (number | null | undefined)[]): number {
  return limits.reduce<number>((most, tokens) => Math.max(most, wholeCount(tokens ?? 0)), 0);
}

/** Rounds fractions up: a bound may be too large, never too small. */
function wholeCount(value: number): number {
  if (Number.isNaN(value)) throw new RangeError('not a number');
  return saturate(Math.ceil(Math.max(0, value)));
}

function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
