import { CHAT, DONE, TOTAL_IS_SUM, chunk, completion, stop, text } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const COUNTS = { prompt_tokens: 1013, total_tokens: 1043, completion_tokens: 30 };
const COST = {
  endpoint: CHAT,
  price: { input: '0.40', cachedInput: '0.04', output: '2.00' },
  arithmetic: ['1,013 - 1,008 = 5 x 400 = 2,000', '1,008 x 40 = 40,320', '30 x 2,000 = 60,000'],
  nanoUsd: 102_320,
  notCharged: TOTAL_IS_SUM,
} as const;

export const MISTRAL: readonly ProviderAnswer[] = [
  {
    name: 'Mistral',
    ...COST,
    published: 'github.com/mistralai/client-ts/issues/240 (2026-06-09), after docs.mistral.ai, prompt caching',
    plain: completion({ ...COUNTS, prompt_tokens_details: { cached_tokens: 1008 } }),
  },
  {
    name: 'Mistral, streamed, the cached tokens at the top',
    ...COST,
    published: 'the field num_cached_tokens: github.com/vercel/ai/issues/14382 (2026-04-13); the counts as above',
    settings: { streamUsage: false },
    stream: [chunk([text('Bonjour')]), chunk([stop()], { usage: { ...COUNTS, num_cached_tokens: 1008 } }), DONE],
  },
  {
    name: 'Mistral, details in the singular',
    ...COST,
    published: 'the field prompt_token_details: github.com/vercel/ai/issues/14382 (2026-04-13); the counts as above',
    plain: completion({ ...COUNTS, prompt_token_details: { cached_tokens: 1008 } }),
  },
  {
    name: 'Mistral Voxtral: audio is input that only the total counts',
    published: 'docs.mistral.ai/capabilities/audio_transcription (2025): the usage of its audio models',
    endpoint: CHAT,
    settings: { totalExtra: 'input' },
    price: { input: '0.10', output: '0.30' },
    arithmetic: ['3,264 - 635 = 2,629 x 100 = 262,900', '635 x 300 = 190,500'],
    nanoUsd: 453_400,
    plain: completion({ prompt_audio_seconds: 203, prompt_tokens: 4, total_tokens: 3264, completion_tokens: 635 }),
    notCharged: {
      prompt_audio_seconds: 'no tokens',
      prompt_tokens: 'all of the total beyond the output is input',
    },
  },
];
