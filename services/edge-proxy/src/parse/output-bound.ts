import { outputTokensMax, type CallBounds } from '@gateway/metering';
import { CHOICES_MAX, TOKEN_LIMITS, type EndpointRow } from '../formats/endpoints.js';
import type { Fields } from './fields.js';

/**
 * Output tokens of one answer where the request cannot be read and the catalog knows neither
 * maximum nor context.
 */
export const OUTPUT_TOKENS_UNKNOWN = 131_072;

const ANSWER_COUNTS = ['n', 'best_of'];

export interface OutputBound {
  /** Tokens, as far as the request can be read. */
  readonly tokens: number;
  /**
   * Answers of which each may be as long as the model can make it, since a field that bounds them
   * cannot be read.
   */
  readonly unboundedAnswers: number;
}

/**
 * @param prompts how many answers the body asks for before `n` multiplies them; 0: none is
 * generated
 */
export function outputBound(
  { outputLimits }: Pick<EndpointRow, 'outputLimits'>,
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

/** What the catalog knows of a model's longest answer. */
export interface ModelMaximum {
  readonly maxOutputTokens: number | null;
  readonly contextLength: number | null;
}

/** What a call says of the length of its answers. */
interface Bounded {
  readonly bounds: CallBounds;
  readonly unboundedAnswers: number;
}

/** The call with the bound that its model sets, where its own fields set none. */
export function boundByModel<Call extends Bounded>(call: Call, model: ModelMaximum | undefined): Call {
  const { bounds, unboundedAnswers } = call;
  if (unboundedAnswers === 0) return call;
  const tokens = model?.maxOutputTokens ?? model?.contextLength ?? OUTPUT_TOKENS_UNKNOWN;
  const longest = outputTokensMax({ prompts: unboundedAnswers, maxTokens: [tokens] });
  return { ...call, bounds: { ...bounds, outputTokensMax: Math.max(bounds.outputTokensMax, longest) } };
}
