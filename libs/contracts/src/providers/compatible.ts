import type { ProviderProfile } from '../operator/index.js';
import { CLIENT_TOOLS } from './openai/profile.js';

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
  // Unknown. True keeps the IDs of one account away from others.
  keepsState: true,
  keyVariable: null,
} as const satisfies Partial<ProviderProfile>;

/** Defaults of sources without a profile, by their provider's format. */
export const OPENAI_COMPATIBLE: ProviderProfile = {
  ...COMPATIBLE,
  id: 'openai-compatible',
  name: 'Any other provider with the OpenAI format',
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
  catches: ['Charges other than tokens are unknown. Such requests are refused unless `unpriced` is `forward`.'],
};

export const ANTHROPIC_COMPATIBLE: ProviderProfile = {
  ...COMPATIBLE,
  id: 'anthropic-compatible',
  name: 'Any other provider with the Anthropic format',
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
  catches: ['Charges other than tokens are unknown. Such requests are refused unless `unpriced` is `forward`.'],
};
