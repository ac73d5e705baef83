import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, MESSAGES_PRICING, toSamePaths } from '../compatible.js';

export const DEEPSEEK_ANTHROPIC: ProviderProfile = {
  ...DEFAULTS,
  id: 'deepseek-anthropic',
  name: 'DeepSeek (Anthropic format)',
  checked: '2026-11-23',
  documentation: 'https://api-docs.deepseek.com/guides/anthropic_api',
  format: 'anthropic',
  base: 'https://api.deepseek.com/anthropic',
  endpoints: toSamePaths('/v1/messages'),
  auth: [{ type: 'header', header: 'x-api-key' }, { type: 'bearer' }],
  betas: 'standard',
  pricing: {
    ...MESSAGES_PRICING,
    tools: [
      { unit: 'web_search', types: ['web_search_*'], fields: [], reportedAt: null, usesMax: 10, boundedBy: 'max_uses' },
    ],
  },
  errors: [
    { status: 400, code: null, text: 'must be passed back', class: 'body' },
    { status: 400, code: null, text: 'Model Not Exist|supported API model names', class: 'model' },
  ],
  keyVariable: 'DEEPSEEK_API_KEY',
  catches: [
    'Prices double in peak hours (UTC windows on Chinese working days). Prices and costs here do not depend on the time. The bundled list has the peak prices, so that nothing is sold below cost. At other times the provider charges half of the recorded cost.',
    'Errors have the OpenAI envelope (error.message, type, param, code), without Anthropic\'s outer "type":"error".',
    'A model name starting with claude-opus is served by deepseek-v4-pro, and any other claude name by deepseek-flash, so the client pays for another model than the requested one. Other unknown names are a 400.',
    'container, mcp_servers, service_tier, top_k, thinking.budget_tokens and the version header are ignored, not refused.',
    'If both Authorization and x-api-key are sent, Authorization wins.',
    'A thinking block may start without a signature field. The stream is silent during thinking.',
    'message_stop has no usage. The raw counts are not known.',
    'Thinking blocks must be sent back, otherwise 400.',
  ],
};
