import { CHAT, DONE, REASONING_INSIDE, TOTAL_IS_SUM, chunk, completion, event, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = {
  prompt_tokens: 2006,
  completion_tokens: 300,
  total_tokens: 2306,
  prompt_tokens_details: { cached_tokens: 1920 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const CHAT_COST = {
  published:
    'platform.openai.com/docs/guides/prompt-caching, repeated in github.com/64bit/async-openai/issues/272 (2024-10-02)',
  endpoint: CHAT,
  price: { input: '2.50', cachedInput: '1.25', output: '10.00' },
  arithmetic: ['2,006 - 1,920 = 86 x 2,500 = 215,000', '1,920 x 1,250 = 2,400,000', '300 x 10,000 = 3,000,000'],
  nanoUsd: 5_615_000,
  notCharged: { ...TOTAL_IS_SUM, ...REASONING_INSIDE },
} as const;

const RESPONSE_USAGE = {
  input_tokens: 2600,
  input_tokens_details: { cached_tokens: 2000, cache_write_tokens: 400 },
  output_tokens: 300,
  output_tokens_details: { reasoning_tokens: 128 },
  total_tokens: 2900,
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_780_000_000,
  status: 'completed',
  error: null,
  model: 'up',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi' }],
    },
  ],
};
const RESPONSE_COST = {
  published:
    'developers.openai.com/api/docs/guides/prompt-caching: 2,000 read, 400 written, 200 neither (2026-09); the output was chosen here',
  endpoint: '/v1/responses',
  price: { input: '2.00', cachedInput: '0.20', cacheWrite: '2.50', output: '12.00' },
  arithmetic: [
    '2,600 - 2,000 - 400 = 200 x 2,000 = 400,000',
    '2,000 x 200 = 400,000',
    '400 x 2,500 = 1,000,000',
    '300 x 12,000 = 3,600,000',
  ],
  nanoUsd: 5_400_000,
  notCharged: { ...TOTAL_IS_SUM, 'output_tokens_details.reasoning_tokens': 'is among output_tokens' },
} as const;

export const OPENAI: readonly ProviderAnswer[] = [
  { name: 'OpenAI, chat', ...CHAT_COST, plain: completion(USAGE) },
  {
    name: 'OpenAI, chat, streamed',
    ...CHAT_COST,
    stream: [
      chunk([text('Hello')], { usage: null }),
      chunk([stop()], { usage: null }),
      chunk([], { usage: USAGE }),
      DONE,
    ],
  },
  { name: 'OpenAI, responses', ...RESPONSE_COST, plain: { ...RESPONSE, usage: RESPONSE_USAGE } },
  {
    name: 'OpenAI, responses, streamed',
    ...RESPONSE_COST,
    stream: [
      event('response.created', { sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', usage: null } }),
      event('response.output_text.delta', { sequence_number: 1, item_id: 'msg_1', output_index: 0, delta: 'Hi' }),
      event('response.completed', { sequence_number: 2, response: { ...RESPONSE, usage: RESPONSE_USAGE } }),
    ],
  },
];
