import type { ProviderProfile } from '@gateway/contracts/operator';
import { CLIENT_TOOLS } from './openai.js';

const COMPATIBLE = {
  checked: '2026-11-23',
  documentation: null,
  base: null,
  parameters: {},
  headers: {},
  body: {},
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  errors: [],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  // Not known, so the IDs of one account are kept from the others.
  keepsState: true,
  keyVariable: null,
} as const satisfies Partial<ProviderProfile>;

/** Of a source that names no profile: what its provider's format has in general. */
export const OPENAI_COMPATIBLE: ProviderProfile = {
  ...COMPATIBLE,
  id: 'openai-compatible',
  name: 'Any other provider in the form of OpenAI',
  format: 'openai',
  endpoints: {
    '/v1/chat/completions': '/v1/chat/completions',
    '/v1/completions': '/v1/completions',
    '/v1/embeddings': '/v1/embeddings',
    '/v1/responses': '/v1/responses',
  },
  auth: [{ type: 'bearer' }],
  betas: [],
  pricing: {
    classes: [{ field: 'service_tier', asks: { auto: 'standard', default: 'standard' }, answersAt: null, answers: {} }],
    tools: [],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  catches: [
    'Nothing is known of what it charges beside tokens: such requests are refused unless `unpriced` is `forward`.',
  ],
};

export const ANTHROPIC_COMPATIBLE: ProviderProfile = {
  ...COMPATIBLE,
  id: 'anthropic-compatible',
  name: 'Any other provider in the form of Anthropic',
  format: 'anthropic',
  endpoints: { '/v1/messages': '/v1/messages', '/v1/messages/count_tokens': '/v1/messages/count_tokens' },
  auth: [{ type: 'header', header: 'x-api-key' }],
  betas: 'standard',
  pricing: {
    classes: [
      { field: 'service_tier', asks: { auto: 'standard', standard_only: 'standard' }, answersAt: null, answers: {} },
    ],
    tools: [],
    freeTools: ['custom', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*'],
    unpricedFields: { speed: ['fast'], inference_geo: ['us'] },
  },
  catches: [
    'Nothing is known of what it charges beside tokens: such requests are refused unless `unpriced` is `forward`.',
  ],
};
