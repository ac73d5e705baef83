import type { CatalogSource, Endpoint } from '@gateway/contracts/messages';

/** USD per 1,000,000 tokens, as providers quote them; what is left out costs as input. */
export interface QuotedPrice {
  readonly input: string;
  readonly cachedInput?: string;
  readonly cacheWrite?: string;
  readonly cacheWrite1h?: string;
  readonly output: string;
}

/** One answer in the shape of a real provider, and what it costs, worked out by hand. */
export interface ProviderAnswer {
  readonly name: string;
  /**
   * Where the shape and the counts were published, and when; or that the counts were chosen here.
   */
  readonly published: string;
  readonly endpoint: Endpoint;
  /** What the operator sets at the source beyond the defaults. */
  readonly settings?: Partial<Pick<CatalogSource, 'totalExtra' | 'streamUsage'>>;
  readonly price: QuotedPrice;
  /** 1,000 nano-USD a token are 1 USD per million. */
  readonly arithmetic: readonly string[];
  readonly nanoUsd: number;
  /** A JSON body, or the events of a stream: objects as `data`, texts as they are. */
  readonly plain?: object;
  readonly stream?: readonly (object | string)[];
  /** Counts of a usage that a change of one leaves without effect, each with the reason. */
  readonly notCharged?: Readonly<Record<string, string>>;
}

export const CHAT = '/v1/chat/completions';
export const DONE = 'data: [DONE]\n\n';

/** A plain chat completion. */
export function completion(usage: object, more: object = {}): object {
  const message = { role: 'assistant', content: 'Hello!' };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_780_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
    ...more,
  };
}

/** A chunk of a streamed chat completion. */
export function chunk(choices: readonly object[], more: object = {}): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_780_000_000, model: 'up', choices, ...more };
}

export const text = (content: string): object => ({
  index: 0,
  delta: { role: 'assistant', content },
  finish_reason: null,
});
export const stop = (more: object = {}): object => ({ index: 0, delta: {}, finish_reason: 'stop', ...more });
/** An event with its name, as the messages and responses protocols send it. */
export const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const TOTAL_IS_SUM = { total_tokens: 'the sum of its parts' };
export const REASONING_INSIDE = { 'completion_tokens_details.reasoning_tokens': 'is among completion_tokens' };
