import { CHAT, DONE, TOTAL_IS_SUM, chunk, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const after = (completion_tokens: number): object => ({
  prompt_tokens: 31,
  total_tokens: 31 + completion_tokens,
  completion_tokens,
});

export const VLLM: readonly ProviderAnswer[] = [
  {
    name: 'vLLM, streamed with continuous_usage_stats',
    published:
      'docs.vllm.ai, OpenAI-compatible server, stream_options.continuous_usage_stats (2025); counts chosen here',
    endpoint: CHAT,
    price: { input: '0.20', output: '0.40' },
    arithmetic: ['31 x 200 = 6,200', '12 x 400 = 4,800'],
    nanoUsd: 11_000,
    stream: [
      chunk([text('Hel')], { usage: after(1) }),
      chunk([text('lo')], { usage: after(11) }),
      chunk([stop()], { usage: after(12) }),
      chunk([], { usage: after(12) }),
      DONE,
    ],
    notCharged: TOTAL_IS_SUM,
  },
];
