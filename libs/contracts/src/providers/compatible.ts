import { ENDPOINTS, type Endpoint } from '../messages/scalars.js';
import type { ProviderProfile } from '../operator/index.js';

/** Tools that a client runs. They cost only tokens at every provider. */
export const CLIENT_TOOLS: ProviderProfile['pricing']['freeTools'] = [
  'function',
  'custom',
  'namespace',
  'tool_search',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
  { type: 'shell', where: { 'environment.type': [null, 'local'], 'environment.skills': [] } },
];

/** Service classes of providers that serve and accept only the standard class. */
export const STANDARD_CLASSES: ProviderProfile['pricing']['classes'] = [
  { field: 'service_tier', asks: { auto: 'standard', default: 'standard' }, answersAt: null, answers: {} },
];

/** Pricing of providers that charge only tokens, in one class. */
export const STANDARD_PRICING: ProviderProfile['pricing'] = {
  classes: STANDARD_CLASSES,
  tools: [],
  freeTools: CLIENT_TOOLS,
  unpricedFields: {},
};

/** Pricing of providers of the messages API that charge only tokens, in one class. */
export const MESSAGES_PRICING: ProviderProfile['pricing'] = {
  classes: [
    { field: 'service_tier', asks: { auto: 'standard', standard_only: 'standard' }, answersAt: null, answers: {} },
  ],
  tools: [],
  freeTools: ['custom', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*'],
  unpricedFields: { speed: ['fast'], inference_geo: ['us'] },
};

/** Pricing of servers that an operator runs. */
export const FREE_PRICING: ProviderProfile['pricing'] = {
  classes: [],
  tools: [],
  freeTools: ['*'],
  unpricedFields: {},
};

/** Endpoints whose path at the provider is the gateway's. */
export function toSamePaths(...paths: Endpoint[]): ProviderProfile['endpoints'] {
  return Object.fromEntries(paths.map((path) => [path, path]));
}

/** What most providers have in common. Profiles list the differences. */
export const DEFAULTS = {
  documentation: null,
  base: null,
  parameters: {},
  headers: {},
  body: {},
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  auth: [{ type: 'bearer' }],
  errors: [],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  // Unknown. True keeps the IDs of one account away from others.
  keepsState: true,
  keyVariable: null,
} as const satisfies Partial<ProviderProfile>;

/** Defaults of sources without a profile, by their provider's format. */
export const OPENAI_COMPATIBLE: ProviderProfile = {
  ...DEFAULTS,
  checked: '2026-11-23',
  id: 'openai-compatible',
  name: 'Any other provider with the OpenAI format',
  format: 'openai',
  endpoints: toSamePaths('/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'),
  betas: [],
  pricing: STANDARD_PRICING,
  catches: ['Charges other than tokens are unknown. Such requests are refused unless `unpriced` is `forward`.'],
};

export const ANTHROPIC_COMPATIBLE: ProviderProfile = {
  ...DEFAULTS,
  checked: '2026-11-23',
  id: 'anthropic-compatible',
  name: 'Any other provider with the Anthropic format',
  format: 'anthropic',
  endpoints: toSamePaths('/v1/messages', '/v1/messages/count_tokens'),
  auth: [{ type: 'header', header: 'x-api-key' }],
  betas: 'standard',
  pricing: MESSAGES_PRICING,
  catches: ['Charges other than tokens are unknown. Such requests are refused unless `unpriced` is `forward`.'],
};

/** The endpoints of servers that implement both API styles. */
export const ALL_PATHS = toSamePaths(...ENDPOINTS);
