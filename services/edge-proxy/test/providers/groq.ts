import { CHAT, DONE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = {
  queue_time: 0.037493756,
  prompt_tokens: 18,
  prompt_time: 0.000680594,
  completion_tokens: 556,
  completion_time: 0.463333333,
  total_tokens: 574,
  total_time: 0.464013927,
};
const COST = {
  published: 'console.groq.com/docs/api-reference, chat completions (2025); x_groq.usage in the last chunk of a stream',
  endpoint: CHAT,
  price: { input: '0.59', output: '0.79' },
  arithmetic: ['18 x 590 = 10,620', '556 x 790 = 439,240'],
  nanoUsd: 449_860,
  notCharged: TOTAL_IS_SUM,
} as const;

export const GROQ: readonly ProviderAnswer[] = [
  {
    name: 'Groq, streamed: a usage chunk without choices',
    ...COST,
    published: 'github.com/freellmapi issue 156 (2026-05); also DeepInfra, earendil-works/pi issue 1671 (2026-02)',
    stream: [chunk([text('Hello')]), chunk([stop()]), { id: 'chatcmpl-1', usage: USAGE }, DONE],
  },
  {
    name: 'a proxy, streamed: empty usages around the real one',
    ...COST,
    published: 'github.com/router-for-me/CLIProxyAPI issues 2762, 3104, 3279 (2026-04); the counts as above',
    stream: [
      chunk([text('Hello')], { usage: {} }),
      chunk([stop()], { usage: USAGE }),
      chunk([], { usage: {} }),
      chunk([], { usage: { prompt_tokens_details: [] } }),
      DONE,
    ],
  },
  { name: 'Groq', ...COST, plain: completion(USAGE, { x_groq: { id: 'req_1' } }) },
  {
    name: 'Groq, streamed: the usage under its own name',
    ...COST,
    stream: [
      chunk([text('Hello')], { x_groq: { id: 'req_1' } }),
      chunk([stop()], { x_groq: { id: 'req_1', usage: USAGE } }),
      DONE,
    ],
  },
];
