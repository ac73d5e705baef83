import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, MESSAGES_PRICING, toSamePaths } from '../compatible.js';
import { MOONSHOT } from '../moonshot/profile.js';

export const MOONSHOT_ANTHROPIC: ProviderProfile = {
  ...DEFAULTS,
  id: 'moonshot-anthropic',
  name: 'Moonshot AI (Kimi, Anthropic format)',
  checked: '2026-11-23',
  documentation: 'https://platform.kimi.ai/docs',
  format: 'anthropic',
  base: 'https://api.moonshot.ai/anthropic',
  endpoints: toSamePaths('/v1/messages'),
  auth: [{ type: 'bearer' }, { type: 'header', header: 'x-api-key' }],
  betas: [],
  pricing: MESSAGES_PRICING,
  errors: MOONSHOT.errors,
  keepsState: false,
  keyVariable: 'MOONSHOT_API_KEY',
  catches: [
    'Errors have an envelope {"error":{"message","type"}} with the types of the OpenAI format, without the outer "type":"error".',
    'Use Bearer. x-api-key alone failed in one report.',
    'temperature is rescaled by 0.6 on this path (2026-05).',
    'kimi-k3 accepts output_config.effort low|high|max and no thinking field. kimi-k2.7 refuses thinking disabled.',
    'The contract of this path was not published in May 2026. Raw usage is not known.',
    'The Kimi Code endpoint (api.kimi.com/coding) is another product with other keys and errors.',
  ],
};
