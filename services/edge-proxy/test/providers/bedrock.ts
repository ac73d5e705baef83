import { message, messageEvents } from './anthropic.js';
import type { ProviderAnswer } from './fixture.js';

const COST = {
  published:
    'docs.aws.amazon.com/bedrock/latest/userguide, Anthropic Claude Messages API (2025); the counts were chosen here',
  endpoint: '/v1/messages',
  price: { input: '1.00', cachedInput: '0.10', cacheWrite: '1.25', output: '5.00' },
  arithmetic: ['40 x 1,000 = 40,000', '2,000 x 100 = 200,000', '300 x 1,250 = 375,000', '60 x 5,000 = 300,000'],
  nanoUsd: 915_000,
} as const;
const INPUT = { input_tokens: 40, cache_creation_input_tokens: 300, cache_read_input_tokens: 2000 };
const METRICS = { inputTokenCount: 40, outputTokenCount: 60, invocationLatency: 1200, firstByteLatency: 400 };

export const BEDROCK: readonly ProviderAnswer[] = [
  { name: 'Bedrock, messages', ...COST, plain: message({ ...INPUT, output_tokens: 60 }) },
  {
    name: 'Bedrock, messages, streamed: metrics of its own at the end',
    ...COST,
    stream: messageEvents(
      { ...INPUT, output_tokens: 4 },
      { output_tokens: 60 },
      { 'amazon-bedrock-invocationMetrics': METRICS },
    ),
  },
];
