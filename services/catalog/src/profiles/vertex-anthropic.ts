import type { ProviderProfile } from '@gateway/contracts/operator';

export const VERTEX_ANTHROPIC: ProviderProfile = {
  id: 'vertex-anthropic',
  name: 'Claude on Google Vertex AI',
  checked: '2026-11-23',
  documentation: 'https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai',
  format: 'anthropic',
  base: 'https://{host}/v1/projects/{project}/locations/{location}/publishers/anthropic/models',
  parameters: {
    host: 'aiplatform.googleapis.com for location global, else <location>-aiplatform.googleapis.com',
    project: 'Google Cloud project',
    location: 'global or a region such as us-east5',
  },
  endpoints: {
    '/v1/messages': {
      plain: '/{model}:rawPredict',
      streamed: '/{model}:streamRawPredict',
    },
    '/v1/messages/count_tokens': '/count-tokens:rawPredict',
  },
  auth: [
    {
      type: 'google',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    },
  ],
  headers: {},
  betas: [
    'tool-search-tool-2025-10-19',
    'compact-2026-01-12',
    'compact-2026-09-04',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dangerous-tool-use-2026-09-03',
    'interleaved-thinking-2025-05-14',
    'per-turn-control-2026-07-01',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'web-search-2025-03-05',
  ],
  body: {
    '/v1/messages': {
      set: {
        anthropic_version: 'vertex-2023-10-16',
      },
      remove: ['model'],
    },
    '/v1/messages/count_tokens': {
      set: {
        anthropic_version: 'vertex-2023-10-16',
      },
    },
  },
  refuses: ['output_config'],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: {
          auto: 'standard',
          standard_only: 'standard',
        },
        answersAt: null,
        answers: {},
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['web_search_*'],
        fields: [],
        reportedAt: 'usage.server_tool_use.web_search_requests',
        usesMax: 10,
        boundedBy: 'max_uses',
      },
    ],
    freeTools: ['custom', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*'],
    unpricedFields: {},
  },
  errors: [
    {
      status: 401,
      code: null,
      text: 'UNAUTHENTICATED|invalid authentication|ACCESS_TOKEN_TYPE_UNSUPPORTED',
      class: 'credential',
    },
    {
      status: 403,
      code: null,
      text: 'PERMISSION_DENIED',
      class: 'credential',
    },
    {
      status: 400,
      code: null,
      text: 'is not allowed to use Publisher Model|FAILED_PRECONDITION',
      class: 'forbidden',
    },
    {
      status: 404,
      code: null,
      text: 'Publisher Model .* was not found or your project does not have access',
      class: 'model',
    },
    {
      status: 429,
      code: null,
      text: 'RESOURCE_EXHAUSTED',
      class: 'quota',
    },
    {
      status: 400,
      code: 'invalid_request_error',
      text: 'Unexpected value\\(s\\) .* for the `anthropic-beta` header',
      class: 'body',
    },
    {
      status: 400,
      code: 'invalid_request_error',
      text: 'Extra inputs are not permitted|does not match any of the expected tags',
      class: 'body',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  catches: [
    'Two kinds of errors: what Claude\'s side refuses is Anthropic\'s {"type":"error","error":{type,message},"request_id":"req_vrtx_..."}; what Google\'s front end refuses (quota, access, credential) is {"error":{code,message,status}} from rawPredict, and the same inside an ARRAY [{...}] from streamRawPredict.',
    'request_id is missing in some Anthropic-shaped errors; the response header is request-id: req_vrtx_...; message ids are msg_vrtx_..., tool ids toolu_vrtx_....',
    "model goes out of the body into the path for messages, but STAYS in the body for count tokens, whose path holds count-tokens in the model's place.",
    'anthropic_version: vertex-2023-10-16 belongs in the body; stream:true stays in the body although the path says it already.',
    'An unknown anthropic-beta value is a 400 for the whole request, so unsupported ones must be filtered out; advanced-tool-use-2025-11-20 is to be sent as tool-search-tool-2025-10-19.',
    'Count tokens refuses betas that messages takes (context-1m-2025-08-07, web-search-2025-03-05): send it no anthropic-beta header at all.',
    "Older model names end in @date (claude-haiku-4-5@20251001), newer have none (claude-opus-4-6); the answer's model is the plain Anthropic name.",
    'Streams may hold events Anthropic does not have: event: vertex_event with {"type":"vertex_event"}; a strict client fails on it, so it is better dropped; ping comes too.',
    "A 429 of quota has no retry-after and no RetryInfo; a new project's quota is 0 and then every first request is 429.",
    "A model has to be enabled in Model Garden first: 400 FAILED_PRECONDITION, an operator's fault.",
    'output_config was refused as extra input (2026-03) and effort-2025-11-24 and structured-outputs-2025-11-13 as beta headers (the first as late as 2026-07); may depend on the model.',
    "The anthropic-version HEADER: one gateway strips it saying Vertex does not take it, Claude Code's documentation says gateways must forward it; sending it was not seen to fail.",
    'The answer of rawPredict has no service_tier and cache_creation names both 5m and 1h writes; clients send ttl 1h, no answer with a 1h write was seen.',
    'Location global routes anywhere, regions (from Sonnet 4.5 on) guarantee the place; check whether their prices differ.',
    'One client reads usage.extra_properties.google.traffic_type and asks for priority by the header X-Vertex-AI-LLM-Shared-Request-Type with Claude too; no answer with it was seen.',
  ],
};
