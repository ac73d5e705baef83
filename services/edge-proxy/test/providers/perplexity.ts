import { CHAT, TOTAL_IS_SUM, completion } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const OWN_FEE = 'outside of the total, with a price of its own that no model here has';

export const PERPLEXITY: readonly ProviderAnswer[] = [
  {
    name: 'Perplexity, responses: the cache under names of its own',
    published:
      'github.com/api-evangelist/perplexity, ResponsesUsage of its OpenAPI document (2026); counts chosen here',
    endpoint: '/v1/responses',
    price: { input: '3.00', cachedInput: '0.30', cacheWrite: '3.75', output: '15.00' },
    arithmetic: [
      '900 - 600 - 200 = 100 x 3,000 = 300,000',
      '600 x 300 = 180,000',
      '200 x 3,750 = 750,000',
      '70 x 15,000 = 1,050,000',
    ],
    nanoUsd: 2_280_000,
    plain: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
      usage: {
        input_tokens: 900,
        output_tokens: 70,
        total_tokens: 970,
        input_tokens_details: { cache_creation_input_tokens: 200, cache_read_input_tokens: 600 },
        tool_calls_details: { search_web: { invocation: 2 } },
        cost: { currency: 'USD', total_cost: 0.0123 },
      },
    },
    notCharged: { ...TOTAL_IS_SUM, 'tool_calls_details.search_web.invocation': 'no tokens' },
  },
  {
    name: 'Perplexity, deep research in the form of 2025: what has a price of its own is not output',
    published: 'github.com/bgeneto/open-webui-cost-tracker/issues/6 (2025-05-21)',
    endpoint: CHAT,
    price: { input: '2.00', output: '8.00' },
    arithmetic: ['108 x 2,000 = 216,000', '3,256 x 8,000 = 26,048,000'],
    nanoUsd: 26_264_000,
    plain: completion({
      prompt_tokens: 108,
      completion_tokens: 3256,
      total_tokens: 3364,
      citation_tokens: 7299,
      num_search_queries: 74,
      reasoning_tokens: 73248,
    }),
    notCharged: {
      ...TOTAL_IS_SUM,
      citation_tokens: OWN_FEE,
      num_search_queries: OWN_FEE,
      reasoning_tokens: OWN_FEE,
    },
  },
];
