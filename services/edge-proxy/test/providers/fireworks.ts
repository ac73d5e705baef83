import { CHAT, DONE, TOTAL_IS_SUM, chunk, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

export const FIREWORKS: readonly ProviderAnswer[] = [
  {
    name: 'Fireworks, streamed',
    published:
      'github.com/langchain-ai/langchain/pull/36977 (2026-04-23): a last chunk without choices; counts chosen here',
    endpoint: CHAT,
    price: { input: '0.60', cachedInput: '0.30', output: '2.50' },
    arithmetic: ['700 - 512 = 188 x 600 = 112,800', '512 x 300 = 153,600', '90 x 2,500 = 225,000'],
    nanoUsd: 491_400,
    stream: [
      chunk([text('Hello')]),
      chunk([stop()]),
      chunk([], {
        usage: {
          prompt_tokens: 700,
          completion_tokens: 90,
          total_tokens: 790,
          prompt_tokens_details: { cached_tokens: 512 },
        },
      }),
      DONE,
    ],
    notCharged: TOTAL_IS_SUM,
  },
];
