import { CHAT, DONE, REASONING_INSIDE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const HAIKU = { input: '1.00', cachedInput: '0.10', cacheWrite: '1.25', output: '5.00' } as const;

export const OPENROUTER: readonly ProviderAnswer[] = [
  {
    name: 'OpenRouter, writing the cache',
    published: 'github.com/aaif-goose/goose/pull/11472 (2026-08-21): 25,612 = 25,600 written + 12; output chosen here',
    endpoint: CHAT,
    price: HAIKU,
    arithmetic: ['25,612 - 25,600 = 12 x 1,000 = 12,000', '25,600 x 1,250 = 32,000,000', '20 x 5,000 = 100,000'],
    nanoUsd: 32_112_000,
    plain: completion(
      {
        prompt_tokens: 25612,
        completion_tokens: 20,
        total_tokens: 25632,
        cost: 0.032112,
        is_byok: false,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 25600, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      { provider: 'Anthropic' },
    ),
    notCharged: { ...TOTAL_IS_SUM, ...REASONING_INSIDE, 'prompt_tokens_details.audio_tokens': 'a kind of input' },
  },
  {
    name: 'OpenRouter, reading the cache, streamed',
    published: 'github.com/laravel/ai/pull/924 (2026-08-21): 10,339 of which 10,318 are cached; output chosen here',
    endpoint: CHAT,
    price: HAIKU,
    arithmetic: ['10,339 - 10,318 = 21 x 1,000 = 21,000', '10,318 x 100 = 1,031,800', '40 x 5,000 = 200,000'],
    nanoUsd: 1_252_800,
    stream: [
      ': OPENROUTER PROCESSING\n\n',
      chunk([text('Hello')]),
      chunk([stop()]),
      chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], {
        usage: {
          prompt_tokens: 10339,
          completion_tokens: 40,
          total_tokens: 10379,
          prompt_tokens_details: { cached_tokens: 10318, cache_write_tokens: 0 },
        },
      }),
      DONE,
    ],
    notCharged: TOTAL_IS_SUM,
  },
];
