import { CHAT, TOTAL_IS_SUM, completion } from './fixture.js';
import { messageEvents } from './anthropic.js';
import type { ProviderAnswer } from './fixture.js';

const PRICE = { input: '0.10', output: '0.30' } as const;

export const OLLAMA: readonly ProviderAnswer[] = [
  {
    name: 'Ollama, OpenAI form',
    published: 'docs.ollama.com/api/openai-compatibility (2026); the counts were chosen here',
    endpoint: CHAT,
    price: PRICE,
    arithmetic: ['26 x 100 = 2,600', '298 x 300 = 89,400'],
    nanoUsd: 92_000,
    plain: completion(
      { prompt_tokens: 26, completion_tokens: 298, total_tokens: 324 },
      { system_fingerprint: 'fp_ollama' },
    ),
    notCharged: TOTAL_IS_SUM,
  },
  {
    name: 'Ollama, messages, streamed: the input comes at the end alone',
    published: 'docs.ollama.com/api/anthropic-compatibility (2026); the counts were chosen here',
    endpoint: '/v1/messages',
    price: PRICE,
    arithmetic: ['26 x 100 = 2,600', '298 x 300 = 89,400'],
    nanoUsd: 92_000,
    stream: messageEvents({ input_tokens: 0, output_tokens: 0 }, { input_tokens: 26, output_tokens: 298 }),
  },
];
