import { CHAT, DONE, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const USAGE = {
  prompt_tokens: 10120,
  completion_tokens: 1499,
  total_tokens: 14428,
  prompt_tokens_details: { text_tokens: 10120, audio_tokens: 0, image_tokens: 0, cached_tokens: 128 },
  completion_tokens_details: { reasoning_tokens: 2809, audio_tokens: 0 },
  num_sources_used: 0,
  cost_in_usd_ticks: 232_856_000,
};
const COST = {
  published:
    'github.com/Wei-Shaw/sub2api/issues/5771 (2026-08-18); docs.x.ai: reasoning is charged as completion. Its own cost_in_usd_ticks (1 USD = 10^10) say the same',
  endpoint: CHAT,
  price: { input: '1.25', cachedInput: '0.20', output: '2.50' },
  arithmetic: [
    '10,120 - 128 = 9,992 x 1,250 = 12,490,000',
    '128 x 200 = 25,600',
    '1,499 + 2,809 = 4,308 x 2,500 = 10,770,000',
  ],
  nanoUsd: 23_285_600,
  notCharged: {
    'prompt_tokens_details.text_tokens': 'a kind of input',
    'prompt_tokens_details.audio_tokens': 'a kind of input',
    'prompt_tokens_details.image_tokens': 'a kind of input',
    'completion_tokens_details.audio_tokens': 'a kind of output',
    num_sources_used: 'no tokens',
    cost_in_usd_ticks: 'no tokens',
  },
} as const;

export const XAI: readonly ProviderAnswer[] = [
  { name: 'xAI', ...COST, plain: completion(USAGE) },
  {
    name: 'xAI, streamed',
    ...COST,
    stream: [chunk([text('Hello')]), chunk([stop()], { usage: USAGE }), chunk([], { usage: USAGE }), DONE],
  },
];
