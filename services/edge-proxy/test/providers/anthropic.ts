import { event } from './fixture.js';
import type { ProviderAnswer } from './fixture.js';

const SONNET = {
  endpoint: '/v1/messages',
  price: { input: '3.00', cachedInput: '0.30', cacheWrite: '3.75', cacheWrite1h: '6.00', output: '15.00' },
} as const;

export function message(usage: object): object {
  const content = [{ type: 'text', text: 'Hello!' }];
  return { id: 'msg_1', type: 'message', role: 'assistant', model: 'up', content, stop_reason: 'end_turn', usage };
}

/** The events of a message whose usage begins and ends like that. */
export function messageEvents(first: object, last: object, stopFields: object = {}): string[] {
  const begun = { ...message(first), content: [], stop_reason: null };
  return [
    event('message_start', { message: begun }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping', {}),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello!' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: last }),
    event('message_stop', stopFields),
  ];
}

const COMPACTED = {
  input_tokens: 23000,
  output_tokens: 1000,
  iterations: [
    { type: 'compaction', input_tokens: 180000, output_tokens: 3500 },
    { type: 'message', input_tokens: 23000, output_tokens: 1000 },
  ],
};
const COMPACTED_COST = {
  published:
    'platform.claude.com/docs/en/build-with-claude/compaction, quoted in github.com/pydantic/pydantic-ai/issues/5065 (2026-04-13)',
  arithmetic: ['23,000 + 180,000 = 203,000 x 3,000 = 609,000,000', '1,000 + 3,500 = 4,500 x 15,000 = 67,500,000'],
  nanoUsd: 676_500_000,
  notCharged: {
    'iterations.1.input_tokens': 'the answer itself: its counts stand at the top',
    'iterations.1.output_tokens': 'the answer itself: its counts stand at the top',
  },
} as const;

export const ANTHROPIC: readonly ProviderAnswer[] = [
  {
    name: 'Anthropic, with both caches',
    ...SONNET,
    published: 'platform.claude.com/docs/en/build-with-claude/prompt-caching, 1-hour cache duration (2025)',
    arithmetic: [
      '2,048 x 3,000 = 6,144,000',
      '1,800 x 300 = 540,000',
      '248 - 100 = 148 x 3,750 = 555,000',
      '100 x 6,000 = 600,000',
      '503 x 15,000 = 7,545,000',
    ],
    nanoUsd: 15_384_000,
    plain: message({
      input_tokens: 2048,
      cache_read_input_tokens: 1800,
      cache_creation_input_tokens: 248,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
      output_tokens: 503,
      service_tier: 'standard',
    }),
    notCharged: { 'cache_creation.ephemeral_5m_input_tokens': 'what the other written ones leave of their sum' },
  },
  {
    name: 'Anthropic, streamed',
    ...SONNET,
    published: 'platform.claude.com/docs/en/build-with-claude/streaming, basic streaming request (2025)',
    arithmetic: ['25 x 3,000 = 75,000', '15 x 15,000 = 225,000'],
    nanoUsd: 300_000,
    stream: messageEvents({ input_tokens: 25, output_tokens: 1 }, { output_tokens: 15 }),
  },
  { name: 'Anthropic, compacted at the provider', ...SONNET, ...COMPACTED_COST, plain: message(COMPACTED) },
  {
    name: 'Anthropic, compacted at the provider, streamed',
    ...SONNET,
    ...COMPACTED_COST,
    stream: messageEvents({ input_tokens: 23000, output_tokens: 1 }, COMPACTED),
  },
];
