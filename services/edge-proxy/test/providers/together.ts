import { CHAT, DONE, TOTAL_IS_SUM, chunk, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

export const TOGETHER: readonly ProviderAnswer[] = [
  {
    name: 'Together, streamed: the usage beside the finish reason',
    published: 'github.com/mlflow/mlflow/pull/11557 (2024-04-04)',
    endpoint: CHAT,
    price: { input: '0.60', output: '0.60' },
    arithmetic: ['17 x 600 = 10,200', '200 x 600 = 120,000'],
    nanoUsd: 130_200,
    stream: [
      chunk([text('Hello')], { usage: null }),
      chunk([stop()], { usage: { prompt_tokens: 17, completion_tokens: 200, total_tokens: 217 } }),
      DONE,
    ],
    notCharged: TOTAL_IS_SUM,
  },
];
