import type { ProviderProfile } from '@gateway/contracts/operator';

export const VERTEX: ProviderProfile = {
  id: 'vertex',
  name: 'Google Vertex AI (OpenAI-compatible, Gemini and open models)',
  checked: '2026-11-23',
  documentation: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/migrate/openai/overview',
  format: 'openai',
  base: 'https://{host}/v1/projects/{project}/locations/{location}/endpoints/openapi',
  parameters: {
    host: 'aiplatform.googleapis.com for location global, else <location>-aiplatform.googleapis.com',
    project: 'Google Cloud project',
    location: 'global or a region such as us-central1',
  },
  endpoints: {
    '/v1/chat/completions': '/chat/completions',
  },
  auth: [
    {
      type: 'google',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
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
        types: [],
        fields: ['web_search_options'],
        reportedAt: null,
        usesMax: 1,
        boundedBy: null,
      },
    ],
    freeTools: ['function', 'custom'],
    unpricedFields: {},
  },
  errors: [
    {
      status: 401,
      code: null,
      text: 'UNAUTHENTICATED|ACCESS_TOKEN_TYPE_UNSUPPORTED|invalid authentication',
      class: 'credential',
    },
    {
      status: 403,
      code: null,
      text: 'PERMISSION_DENIED',
      class: 'credential',
    },
    {
      status: 404,
      code: null,
      text: 'Publisher Model .* was not found or your project does not have access',
      class: 'model',
    },
    {
      status: 400,
      code: null,
      text: 'FAILED_PRECONDITION|is not allowed to use Publisher Model',
      class: 'forbidden',
    },
    {
      status: 429,
      code: null,
      text: 'RESOURCE_EXHAUSTED',
      class: 'quota',
    },
    {
      status: 400,
      code: null,
      text: 'input token count \\(\\d+\\) exceeds the maximum number of tokens',
      class: 'body',
    },
    {
      status: 400,
      code: null,
      text: 'INVALID_ARGUMENT',
      class: 'body',
    },
    {
      status: 503,
      code: null,
      text: 'UNAVAILABLE',
      class: 'overload',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  catches: [
    'The model needs its publisher in front: google/gemini-3.5-flash, deepseek-ai/deepseek-v3.2-maas, xai/grok-4.20-reasoning; the answer names it likewise.',
    'Reasoning tokens are named, but BESIDE completion_tokens: total = prompt + completion + reasoning (27 + 45 + 504 = 576); output to charge is completion + reasoning. Differs from the Gemini API, which names none.',
    'Errors are an array of one element here as well, [{"error":{code,message,status}}]; a 429 of the shared capacity has no RetryInfo and no retry header.',
    'A top-level field that is not supported is IGNORED for Google models (stream_options, parallel_tool_calls, logit_bias, user, ...): a request that lost half its options looks like a success. Open models differ by model.',
    'The service class is asked with the header X-Vertex-AI-LLM-Shared-Request-Type (flex or priority), not with service_tier; X-Vertex-AI-LLM-Request-Type: shared keeps it off provisioned throughput, dedicated forbids spilling over and then answers 429.',
    'usage.extra_properties.google.traffic_type says how the request ran; it was seen in lower case (on_demand) too: compare without case.',
    'Only the last chunk of a stream has usage, without being asked.',
    'An image comes in message.audio with extra_content.google.mime_type (sic), content is null.',
    'thought_signature stands in extra_content.google of the tool call OR of the message and must come back; one of over 10,000 characters was seen.',
    "An open model's answer may have prompt_tokens_details: null.",
    'Claude is not served well here: cache counts are lost; use vertex-anthropic.',
    'A token of the wrong kind or an API key is a 401 of the operator, never of the caller.',
    'Other endpoints: one gateway sends embeddings to .../endpoints/openapi/embeddings, others say embeddings need :predict; a Responses endpoint exists for Grok models on Vertex (a client sends store:false). Neither was proved, so neither is in endpoints.',
  ],
};
