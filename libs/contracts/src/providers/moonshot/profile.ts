import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, STANDARD_CLASSES, toSamePaths } from '../compatible.js';

export const MOONSHOT: ProviderProfile = {
  ...DEFAULTS,
  id: 'moonshot',
  name: 'Moonshot AI (Kimi)',
  checked: '2026-11-23',
  documentation: 'https://platform.kimi.ai/docs/api/chat',
  format: 'openai',
  base: 'https://api.moonshot.ai',
  endpoints: toSamePaths('/v1/chat/completions', '/v1/responses'),
  betas: [],
  refuses: ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty'],
  pricing: {
    classes: STANDARD_CLASSES,
    tools: [
      {
        unit: 'web_search',
        types: ['builtin_function'],
        fields: [],
        reportedAt: 'choices[].message|delta.tool_calls[type=builtin_function]',
        distinct: ['id', 'index'],
        usesMax: 5,
        boundedBy: null,
      },
    ],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: null, code: 'exceeded_current_quota_error', text: null, class: 'funds' },
    { status: null, code: null, text: 'suspended due to insufficient balance', class: 'funds' },
    { status: 404, code: 'resource_not_found_error', text: null, class: 'model' },
    { status: null, code: 'engine_overloaded_error', text: null, class: 'overload' },
    { status: 429, code: 'rate_limit_reached_error', text: null, class: 'quota' },
    { status: null, code: null, text: 'considered high risk', class: 'content' },
    { status: null, code: null, text: 'exceeded model token limit|Input token length too long', class: 'body' },
    { status: 400, code: null, text: '^invalid (temperature|thinking|top_p)', class: 'body' },
  ],
  keyVariable: 'MOONSHOT_API_KEY',
  catches: [
    'In a stream, usage is at choices[0].usage of the finish chunk without a request, and again in a separate chunk if include_usage is set. The numbers are equal, so count them once.',
    'Cache writes are charged since about September 2026, but no usage field for them was found. Bounds and costs may be too low.',
    'reasoning_tokens may exceed completion_tokens by one.',
    'Cached tokens are at usage.cached_tokens and (newer) in prompt_tokens_details, with the same number.',
    '429 has several meanings, which differ by type. No funds is exceeded_current_quota_error, overload is engine_overloaded_error, and the third is the rate limit.',
    'Error texts contain the organization and the key ID. Redact them.',
    'Keys of platform.kimi.ai (api.moonshot.ai) and of the Chinese platform (api.moonshot.cn) are not interchangeable.',
    'kimi-k models accept only fixed sampling values (temperature 1, or 0.6 without thinking). Other values are a 400.',
    'With thinking on, assistant tool-call messages must be sent back with their reasoning_content, else 400.',
    'New organizations have a concurrency of 1 and few requests per minute.',
  ],
};
