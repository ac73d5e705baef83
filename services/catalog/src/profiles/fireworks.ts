import type { ProviderProfile } from '@gateway/contracts/operator';

export const FIREWORKS: ProviderProfile = {
  id: 'fireworks',
  name: 'Fireworks AI',
  checked: '2026-11-23',
  documentation: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
  format: 'openai',
  base: 'https://api.fireworks.ai/inference',
  parameters: {},
  endpoints: {
    '/v1/chat/completions': '/v1/chat/completions',
    '/v1/completions': '/v1/completions',
    '/v1/embeddings': '/v1/embeddings',
    '/v1/responses': '/v1/responses',
    '/v1/messages': '/v1/messages',
  },
  auth: [
    {
      type: 'bearer',
    },
    {
      type: 'header',
      header: 'x-api-key',
    },
  ],
  headers: {},
  betas: [],
  body: {},
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: {
          priority: 'priority',
        },
        answersAt: null,
        answers: {},
      },
    ],
    tools: [],
    freeTools: ['function', 'custom'],
    unpricedFields: {},
  },
  errors: [
    {
      status: 401,
      code: 'UNAUTHORIZED',
      text: null,
      class: 'credential',
    },
    {
      status: 403,
      code: null,
      text: null,
      class: 'credential',
    },
    {
      status: 412,
      code: 'PRECONDITION_FAILED',
      text: 'suspended',
      class: 'funds',
    },
    {
      status: 404,
      code: 'NOT_FOUND',
      text: null,
      class: 'model',
    },
    {
      status: 400,
      code: null,
      text: 'Extra inputs are not permitted',
      class: 'body',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: true,
  keyVariable: 'FIREWORKS_API_KEY',
  catches: [
    'The documentation says streams hold usage in the last chunk unasked; a user saw streams without it in June 2026 until include_usage was asked: ask always, and read the headers fireworks-prompt-tokens and fireworks-cached-prompt-tokens as the second source.',
    'No answer and no header says which class was served: an accepted priority request must be billed as priority.',
    "412 is the operator's account suspended (spending limit or unpaid invoice), not a precondition of the caller.",
    '429 has type and code invalid_request_error: only the status tells it from a bad body; x-ratelimit-over-limit said no on those answers.',
    "A prompt with max_tokens beyond the context is not refused: max_tokens is lowered (context_length_exceeded_behavior error gives OpenAI's behaviour).",
    'Unknown fields are refused with 400 (Extra inputs are not permitted).',
    '404 does not tell an unknown model from one that is not deployed or not allowed; the list may name models the endpoint refuses.',
    'Responses are stored unless store is false.',
    'Messages: server tools are not run, anthropic-version is ignored, thinking of type adaptive and inference_geo are not supported, cache_control on tools is not supported; pages differ on service_tier (the newer one supports priority).',
    'Messages go through api.fireworks.ai/inference only, not through direct routes of deployments.',
    'The cache discount differs by model (50% by default); hits need x-session-affinity or prompt_cache_key to reach the same replica.',
    'The token limits shrink while traffic bursts (216000 to 36000 generated tokens a minute was measured).',
  ],
};
