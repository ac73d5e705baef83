import { CHAT, DONE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = {
  prompt_tokens: 100,
  prompt_cache_hit_tokens: 80,
  prompt_cache_miss_tokens: 20,
  completion_tokens: 50,
  total_tokens: 150,
};
const COST = {
  published:
    'github.com/mozilla-ai/any-llm/issues/795 (2026-02-02), after api-docs.deepseek.com/api/create-chat-completion',
  endpoint: CHAT,
  price: { input: '0.28', cachedInput: '0.028', output: '0.42' },
  arithmetic: ['100 - 80 = 20 x 280 = 5,600', '80 x 28 = 2,240', '50 x 420 = 21,000'],
  nanoUsd: 28_840,
  notCharged: { ...TOTAL_IS_SUM, prompt_cache_miss_tokens: 'what the hits leave of prompt_tokens' },
} as const;

export const DEEPSEEK: readonly ProviderAnswer[] = [
  { name: 'DeepSeek', ...COST, plain: completion(USAGE) },
  {
    name: 'DeepSeek, streamed',
    ...COST,
    stream: [': keep-alive\n\n', chunk([text('Hello')], { usage: null }), chunk([stop()], { usage: USAGE }), DONE],
  },
];
