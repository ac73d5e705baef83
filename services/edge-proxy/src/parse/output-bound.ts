import { outputTokensMax, type CallBounds } from '@gateway/metering';
import { CHOICES_MAX, TOKEN_LIMITS, type EndpointSpec } from '../formats/endpoints.js';
import type { Fields } from './fields.js';

/**
 * Output tokens assumed for one response if its limit cannot be read and the catalog has neither a
 * maximum output nor a context length for the model.
 */
export const OUTPUT_TOKENS_UNKNOWN = 131_072;

const ANSWER_COUNTS = ['n', 'best_of'];

export interface OutputBound {
  /** Tokens allowed by the limits that could be read. */
  readonly tokens: number;
  /** Number of responses without a readable limit. Each may be as long as the model allows. */
  readonly unboundedAnswers: number;
}

/**
 * Computes the bound of a request's output tokens from its limit and count fields.
 * @param prompts number of prompts in the body, before `n` multiplies them; 0 if the endpoint
 * generates no text
 */
export function computeOutputBound(
  { outputLimits }: Pick<EndpointSpec, 'outputLimits'>,
  { counts, unread }: Pick<Fields, 'counts' | 'unread'>,
  prompts: number,
): OutputBound {
  const n = counts.get('n') ?? null;
  const bestOf = counts.get('best_of') ?? null;
  const isOwn = (name: string): boolean => outputLimits.has(name);
  const tokens = outputTokensMax({
    prompts,
    n,
    bestOf,
    maxTokens: TOKEN_LIMITS.filter(isOwn).map((name) => counts.get(name)),
    otherMaxTokens: TOKEN_LIMITS.filter((name) => !isOwn(name)).map((name) => counts.get(name)),
  });
  if (![...TOKEN_LIMITS, ...ANSWER_COUNTS].some((name) => unread.has(name))) return { tokens, unboundedAnswers: 0 };
  const unreadAnswers = ANSWER_COUNTS.some((name) => unread.has(name)) ? CHOICES_MAX : 1;
  return {
    tokens,
    unboundedAnswers: outputTokensMax({ prompts, n, bestOf: Math.max(bestOf ?? 1, unreadAnswers), maxTokens: [1] }),
  };
}

/** The limits of a model's output that the catalog has. */
export interface ModelMaximum {
  readonly maxOutputTokens: number | null;
  readonly contextLength: number | null;
}

/** The parts of a call that bound its output. */
interface BoundedCall {
  readonly bounds: CallBounds;
  readonly unboundedAnswers: number;
}

/**
 * Raises the call's output bound to the model's maximum for each response without a readable limit.
 */
export function applyModelMaximum<Call extends BoundedCall>(call: Call, model: ModelMaximum | undefined): Call {
  const { bounds, unboundedAnswers } = call;
  if (unboundedAnswers === 0) return call;
  const tokens = model?.maxOutputTokens ?? model?.contextLength ?? OUTPUT_TOKENS_UNKNOWN;
  const longest = outputTokensMax({ prompts: unboundedAnswers, maxTokens: [tokens] });
  return { ...call, bounds: { ...bounds, outputTokensMax: Math.max(bounds.outputTokensMax, longest) } };
}
