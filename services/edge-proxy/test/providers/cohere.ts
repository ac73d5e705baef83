import { CHAT, TOTAL_IS_SUM, completion } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

export const COHERE: readonly ProviderAnswer[] = [
  {
    name: 'Cohere, compatibility form',
    published: 'docs.cohere.com/docs/compatibility-api (2025); the counts were chosen here',
    endpoint: CHAT,
    price: { input: '2.50', output: '10.00' },
    arithmetic: ['14 x 2,500 = 35,000', '23 x 10,000 = 230,000'],
    nanoUsd: 265_000,
    plain: completion({ prompt_tokens: 14, completion_tokens: 23, total_tokens: 37 }),
    notCharged: TOTAL_IS_SUM,
  },
];
