import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS } from '../compatible.js';
import { WEB_SEARCHES } from '../openai/profile.js';

export const BEDROCK: ProviderProfile = {
  ...DEFAULTS,
  id: 'bedrock',
  name: 'Amazon Bedrock (OpenAI-compatible paths)',
  checked: '2026-11-23',
  documentation: 'https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html',
  format: 'openai',
  base: 'https://bedrock-runtime.{region}.amazonaws.com/openai',
  parameters: {
    region: 'AWS region, such as us-east-1; also the region of the SigV4 scope and of a short-lived API key',
  },
  endpoints: { '/v1/chat/completions': '/v1/chat/completions', '/v1/responses': '/v1/responses' },
  auth: [
    { type: 'bearer' },
    {
      type: 'sigv4',
      service: 'bedrock',
      region: '{region}',
    },
  ],
  betas: [],
  refuses: ['background'],
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: { auto: 'standard', default: 'standard', flex: 'flex', priority: 'priority' },
        answersAt: 'service_tier',
        answers: { default: 'standard', flex: 'flex', priority: 'priority' },
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['web_search'],
        fields: [],
        ...WEB_SEARCHES,
        usesMax: 10,
        boundedBy: null,
      },
    ],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: null, code: null, text: '^internal (server error|failure|error)', class: 'overload' },
    { status: 401, code: null, text: 'Invalid bearer token', class: 'credential' },
    { status: 401, code: null, text: 'Credential should be scoped to correct service', class: 'credential' },
    { status: 403, code: null, text: 'Credential should be scoped to correct service', class: 'credential' },
    { status: null, code: 'access_denied', text: null, class: 'credential' },
    { status: null, code: null, text: 'is not authorized to perform: bedrock(-mantle)?:', class: 'credential' },
    { status: 401, code: null, text: 'is not enabled', class: 'model' },
    { status: 400, code: 'validation_error', text: "isn't supported on this route", class: 'model' },
    {
      status: 400,
      code: null,
      text: "does not support the '[^']*' API",
      class: 'model',
    },
    { status: 400, code: null, text: 'The provided model identifier is invalid', class: 'model' },
    { status: 400, code: null, text: 'with on-demand throughput isn.t supported', class: 'model' },
    {
      status: 404,
      code: null,
      text: "The model '[^']*' does not exist",
      class: 'model',
    },
    { status: 400, code: 'previous_response_not_found', text: null, class: 'item' },
    {
      status: 400,
      code: null,
      text: "data retention mode '[^']*' is not available for this model",
      class: 'forbidden',
    },
    { status: 400, code: null, text: 'model maximum \\(\\d+\\)', class: 'body' },
    { status: 400, code: 'invalid_value', text: null, class: 'body' },
    { status: 400, code: 'validation_error', text: null, class: 'body' },
  ],
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  catches: [
    'A model has different IDs, and sometimes a different path prefix, on bedrock-runtime and on bedrock-mantle. The wrong prefix returns 400 "isn\'t supported on this route", 401 "is not enabled", or no response (xai.grok-4.3 on /v1/responses). The host bedrock-mantle has its own profile, which knows the prefixes.',
    "bedrock-runtime returns HTTP 200 and a body with UnknownOperationException for a path that it does not serve, such as the user guide's runtime address without /openai.",
    'bedrock-mantle sometimes reports a server error as a 4xx with the text Internal server error (also as {"error":"..."} with a bare string). It can be retried.',
    'Short-lived API keys (prefix bedrock-api-key-) are pre-signed SigV4 addresses. They are valid for at most 12 hours and not longer than their credentials, bound to one region, and not renewable.',
    'SigV4 for bedrock-mantle accepts the scopes bedrock and bedrock-mantle. bedrock-runtime accepts only bedrock.',
    'Responses are stored for 30 days unless store is false. They are stored in the region that processed them, so with a global. profile a follow-up may need another region.',
    'bedrock-mantle limits input tokens plus max_tokens per minute, and not requests. A large max_tokens causes throttling.',
    'Guardrail headers work on bedrock-runtime and are accepted but ignored on bedrock-mantle.',
    'gpt-oss and other /v1 models put the reasoning into message.reasoning and do not report completion_tokens_details.',
    "Access to a model, account or region may depend on the data retention mode (400 data retention mode 'default' is not available for this model).",
    'Costs on bedrock-mantle are attributed by the request header OpenAI-Project (proj_...).',
    'There is no OpenAI-shaped embeddings path.',
  ],
};
