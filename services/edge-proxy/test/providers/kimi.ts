import { CHAT, DONE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 10 };
const COST = {
  endpoint: CHAT,
  price: { input: '0.60', cachedInput: '0.15', output: '2.50' },
  arithmetic: ['19 - 10 = 9 x 600 = 5,400', '10 x 150 = 1,500', '21 x 2,500 = 52,500'],
  nanoUsd: 59_400,
  notCharged: TOTAL_IS_SUM,
} as const;

export const KIMI: readonly ProviderAnswer[] = [
  {
    name: 'Kimi',
    ...COST,
    published: 'platform.moonshot.ai/docs/api/chat (2025); cached_tokens at the top: github.com/vercel/ai/pull/12352',
    plain: completion(USAGE),
  },
  {
    name: 'Kimi, streamed: the usage stands in the choice',
    ...COST,
    published: 'github.com/earendil-works/pi/issues/2017 (2026-03-10): usage in choices[0]; the counts as above',
    stream: [chunk([text('Hello')]), chunk([stop({ usage: USAGE })]), DONE],
  },
];
