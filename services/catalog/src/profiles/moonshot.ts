import type { ProviderProfile } from '@gateway/contracts/operator';

export const MOONSHOT: ProviderProfile = {
  id: 'moonshot',
  name: 'Moonshot AI (Kimi)',
  checked: '2026-11-23',
  documentation: 'https://platform.kimi.ai/docs/api/chat',
  format: 'openai',
  base: 'https://api.moonshot.ai',
  parameters: {},
  endpoints: {
    '/v1/chat/completions': '/v1/chat/completions',
    '/v1/responses': '/v1/responses',
  },
  auth: [
    {
      type: 'bearer',
    },
  ],
  headers: {},
  betas: [],
  body: {},
  refuses: ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty'],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: {
          auto: 'standard',
          default: 'standard',
        },
        answersAt: null,
        answers: {},
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['builtin_function'],
        fields: [],
        reportedAt: 'choices[].message.tool_calls[type=builtin_function]',
        usesMax: 5,
        boundedBy: null,
      },
    ],
    freeTools: ['function', 'custom'],
    unpricedFields: {},
  },
  errors: [
    {
      status: null,
      code: 'exceeded_current_quota_error',
      text: null,
      class: 'funds',
    },
    {
      status: null,
      code: null,
      text: 'suspended due to insufficient balance',
      class: 'funds',
    },
    {
      status: 404,
      code: 'resource_not_found_error',
      text: null,
      class: 'model',
    },
    {
      status: null,
      code: 'engine_overloaded_error',
      text: null,
      class: 'overload',
    },
    {
      status: 429,
      code: 'rate_limit_reached_error',
      text: null,
      class: 'quota',
    },
    {
      status: null,
      code: 'content_filter',
      text: null,
      class: 'content',
    },
    {
      status: null,
      code: null,
      text: 'considered high risk',
      class: 'content',
    },
    {
      status: null,
      code: null,
      text: 'exceeded model token limit|Input token length too long',
      class: 'body',
    },
    {
      status: 400,
      code: null,
      text: '^invalid (temperature|thinking|top_p)',
      class: 'body',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: true,
  keyVariable: 'MOONSHOT_API_KEY',
  catches: [
    'In a stream usage comes unasked at choices[0].usage on the finish chunk, and once more in a chunk of its own when include_usage is set: same numbers, count once.',
    'Cache writes cost since about September 2026, but no usage field for them was found: bounds and costs may be too low.',
    'reasoning_tokens may exceed completion_tokens by one.',
    'Cached tokens stand at usage.cached_tokens and (newer) in prompt_tokens_details: same number.',
    'No funds is 429 exceeded_current_quota_error; overload is 429 engine_overloaded_error: three meanings of 429, told apart by type.',
    'Error texts name the organization and the key id: redact.',
    'Keys of platform.kimi.ai (api.moonshot.ai) and of the Chinese platform (api.moonshot.cn) are not interchangeable.',
    'kimi-k models accept only fixed sampling values (temperature 1, or 0.6 without thinking): other values are 400.',
    'With thinking on, assistant tool-call messages need their reasoning_content back, else 400.',
    'Fresh organizations have a concurrency of 1 and few requests a minute.',
  ],
};
