import { CHAT, DONE, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 1,
  total_tokens: 110,
  completion_tokens_details: { reasoning_tokens: 97 },
};
const COST = {
  published:
    'github.com/BerriAI/litellm/pull/39426 (2026-09-02): reasoning is in total_tokens, not in completion_tokens',
  endpoint: CHAT,
  price: { input: '2.00', cachedInput: '0.50', output: '6.00' },
  arithmetic: ['12 x 2,000 = 24,000', '1 + 97 = 98 x 6,000 = 588,000'],
  nanoUsd: 612_000,
} as const;

export const AZURE_GROK: readonly ProviderAnswer[] = [
  { name: 'Azure Grok', ...COST, plain: completion(USAGE) },
  {
    name: 'Azure Grok, streamed',
    ...COST,
    stream: [chunk([text('pong')]), chunk([stop()]), chunk([], { usage: USAGE }), DONE],
  },
];
