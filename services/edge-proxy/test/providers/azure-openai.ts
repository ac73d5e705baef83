import { CHAT, DONE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = { completion_tokens: 557, prompt_tokens: 33, total_tokens: 590 };
const FILTERS = [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }];
const COST = {
  published: 'learn.microsoft.com, Azure OpenAI reference, Completions - Create chat completion (2024-10-21)',
  endpoint: CHAT,
  price: { input: '2.50', output: '10.00' },
  arithmetic: ['33 x 2,500 = 82,500', '557 x 10,000 = 5,570,000'],
  nanoUsd: 5_652_500,
  notCharged: TOTAL_IS_SUM,
} as const;

export const AZURE_OPENAI: readonly ProviderAnswer[] = [
  { name: 'Azure OpenAI', ...COST, plain: completion(USAGE, { prompt_filter_results: FILTERS }) },
  {
    name: 'Azure OpenAI, streamed: its first chunk has no choices either',
    ...COST,
    stream: [
      chunk([], { prompt_filter_results: FILTERS }),
      chunk([text('Hello')]),
      chunk([stop()]),
      chunk([], { usage: USAGE }),
      DONE,
    ],
  },
];
