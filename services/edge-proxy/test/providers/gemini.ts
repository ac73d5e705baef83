import { CHAT, DONE, chunk, completion, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

/**
 * Thinking is charged as output, and reported nowhere but in the total: the source has to say so.
 */
const SOURCE = {
  endpoint: CHAT,
  settings: { totalExtra: 'output' },
  price: { input: '0.30', output: '2.50' },
} as const;
const EARLY = { completion_tokens: 0, prompt_tokens: 9, total_tokens: 102 };
const LAST = { completion_tokens: 1, prompt_tokens: 9, total_tokens: 103 };

/** All output was thinking: a count of zero is left out. */
const THOUGHT = {
  prompt_tokens: 7_180,
  total_tokens: 67_180,
  completion_tokens_details: { reasoning_tokens: 60_000 },
};
const THOUGHT_COST = {
  ...SOURCE,
  published: 'github.com/modelscope/evalscope/issues/1432 (2026-06): no completion_tokens, finish_reason length',
  arithmetic: ['7,180 x 300 = 2,154,000', '67,180 - 7,180 = 60,000 x 2,500 = 150,000,000'],
  nanoUsd: 152_154_000,
  notCharged: { 'completion_tokens_details.reasoning_tokens': 'is a part of the total' },
} as const;
const CUT_OFF = { index: 0, finish_reason: 'length' };

export const GEMINI: readonly ProviderAnswer[] = [
  {
    name: 'Gemini, OpenAI form, thinking to its end',
    ...THOUGHT_COST,
    plain: completion(THOUGHT, { choices: [CUT_OFF] }),
  },
  {
    name: 'Vertex, OpenAI form, thinking to its end, streamed',
    ...THOUGHT_COST,
    settings: {},
    stream: [chunk([CUT_OFF], { usage: THOUGHT }), DONE],
  },
  {
    name: 'Gemini, OpenAI form',
    ...SOURCE,
    published: 'github.com/Clarifai/clarifai-python/pull/978 (2026-03-10): 572 thinking tokens of 996',
    arithmetic: ['20 x 300 = 6,000', '1,016 - 20 = 996 x 2,500 = 2,490,000'],
    nanoUsd: 2_496_000,
    plain: completion({ completion_tokens: 424, prompt_tokens: 20, total_tokens: 1016 }),
    notCharged: { completion_tokens: 'all of the total beyond the input is output' },
  },
  {
    name: 'Gemini, OpenAI form, streamed with a usage in every chunk',
    ...SOURCE,
    published: 'discuss.ai.google.dev/t/127400 (2025); the chunk before the last was chosen here',
    arithmetic: ['9 x 300 = 2,700', '103 - 9 = 94 x 2,500 = 235,000'],
    nanoUsd: 237_700,
    stream: [
      chunk([text('H')], { usage: EARLY }),
      chunk([{ index: 0, delta: { content: 'i' }, finish_reason: 'stop' }], { usage: LAST }),
      DONE,
    ],
    notCharged: { completion_tokens: 'all of the total beyond the input is output' },
  },
];
