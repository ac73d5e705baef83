import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS } from '../compatible.js';
import { GEMINI_ATTACHMENTS, GOOGLE_SEARCH, INPUT_TOO_LONG } from '../gemini/profile.js';

/** Errors of Google's front end, the same for all publishers. */
export const VERTEX_ERRORS: ProviderProfile['errors'] = [
  { status: 401, code: null, text: null, class: 'credential' },
  { status: 403, code: 'PERMISSION_DENIED', text: null, class: 'credential' },
  { status: 403, code: null, text: '^permission .{1,200} denied', class: 'credential' },
  {
    status: 404,
    code: null,
    text: 'Publisher Model .* was not found or your project does not have access',
    class: 'model',
  },
  { status: 400, code: 'FAILED_PRECONDITION', text: null, class: 'forbidden' },
  { status: 400, code: null, text: 'is not allowed to use Publisher Model', class: 'forbidden' },
  { status: 429, code: 'RESOURCE_EXHAUSTED', text: null, class: 'quota' },
];

export const VERTEX: ProviderProfile = {
  ...DEFAULTS,
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
  endpoints: { '/v1/chat/completions': '/chat/completions' },
  auth: [{ type: 'google', scope: 'https://www.googleapis.com/auth/cloud-platform' }],
  betas: [],
  attachments: GEMINI_ATTACHMENTS,
  pricing: {
    classes: [
      { field: 'service_tier', asks: { auto: 'standard', default: 'standard' }, answersAt: null, answers: {} },
      {
        field: 'x-vertex-ai-llm-shared-request-type',
        asks: { flex: 'flex', priority: 'priority' },
        answersAt: 'usage.extra_properties.google.traffic_type',
        answers: {
          ON_DEMAND: 'standard',
          on_demand: 'standard',
          ON_DEMAND_FLEX: 'flex',
          on_demand_flex: 'flex',
          ON_DEMAND_PRIORITY: 'priority',
          on_demand_priority: 'priority',
          PROVISIONED_THROUGHPUT: 'standard',
          provisioned_throughput: 'standard',
        },
      },
    ],
    tools: GOOGLE_SEARCH,
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
    modelAt: 'model',
  },
  errors: [
    ...VERTEX_ERRORS,
    INPUT_TOO_LONG,
    { status: 400, code: 'INVALID_ARGUMENT', text: null, class: 'body' },
    { status: 503, code: 'UNAVAILABLE', text: null, class: 'overload' },
  ],
  keepsState: false,
  keyVariable: 'GOOGLE_APPLICATION_CREDENTIALS',
  catches: [
    'The model needs its publisher as a prefix: google/gemini-3.5-flash, deepseek-ai/deepseek-v3.2-maas, xai/grok-4.20-reasoning. The response has the same name.',
    'Reasoning tokens are reported but NOT in completion_tokens: total = prompt + completion + reasoning (27 + 45 + 504 = 576). Charged output is completion + reasoning. The Gemini API does not report them.',
    'Errors are also an array of one element, [{"error":{code,message,status}}]. A 429 of the shared capacity has no RetryInfo and no retry header.',
    'A top-level field that is not supported is IGNORED for Google models (stream_options, parallel_tool_calls, logit_bias, user, ...), so a request without effect on half its options looks like a success. Open models differ by model.',
    'The class is requested by the header X-Vertex-AI-LLM-Shared-Request-Type (flex or priority), which the gateway reads, prices and forwards, and not by service_tier. X-Vertex-AI-LLM-Request-Type: shared avoids provisioned throughput. dedicated forbids overflow and then returns 429.',
    'usage.extra_properties.google.traffic_type reports how the request ran. It was also seen in lower case (on_demand), so ignore case.',
    'Web search (web_search_options) is billed once per request. Google charges each query of Gemini 3 and later, and each request of Gemini 2.5. The bundled list has a price for Gemini 2.5 only. A price for later models must cover the usual number of queries.',
    'Only the last chunk of a stream has usage, without a request.',
    'An image is in message.audio with extra_content.google.mime_type (sic), and content is null.',
    'thought_signature is in extra_content.google of the tool call OR of the message and must be sent back. One of more than 10,000 characters was seen.',
    'A response of an open model may have prompt_tokens_details: null.',
    'Do not use this profile for Claude, because cache counts are lost. Use vertex-anthropic.',
    'A token of the wrong kind or an API key is a 401 that the operator must fix, not the client.',
    'Other endpoints: one gateway sends embeddings to .../endpoints/openapi/embeddings, others say that embeddings need :predict. A Responses endpoint exists for Grok models on Vertex (a client sends store:false). Neither was verified, so neither is in endpoints.',
  ],
};
