import type { ProviderProfile } from '@gateway/contracts/operator';

export const BEDROCK_ANTHROPIC: ProviderProfile = {
  id: 'bedrock-anthropic',
  name: 'Amazon Bedrock (Anthropic messages path)',
  checked: '2026-11-23',
  documentation: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html',
  format: 'anthropic',
  base: 'https://bedrock-mantle.{region}.api.aws/anthropic',
  parameters: {
    region: 'AWS region, such as us-east-1; Claude models differ by region',
  },
  endpoints: {
    '/v1/messages': '/v1/messages',
    '/v1/messages/count_tokens': '/v1/messages/count_tokens',
  },
  auth: [
    {
      type: 'bearer',
    },
    {
      type: 'header',
      header: 'x-api-key',
    },
    {
      type: 'sigv4',
      service: 'bedrock-mantle',
      region: '{region}',
    },
  ],
  headers: {},
  betas: 'pass',
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
          standard_only: 'standard',
        },
        answersAt: null,
        answers: {},
      },
    ],
    tools: [],
    freeTools: ['custom', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*'],
    unpricedFields: {},
  },
  errors: [
    {
      status: null,
      code: null,
      text: '^internal (server error|failure|error)',
      class: 'overload',
    },
    {
      status: 403,
      code: 'permission_error',
      text: null,
      class: 'credential',
    },
    {
      status: null,
      code: null,
      text: 'Credential should be scoped to correct service',
      class: 'credential',
    },
    {
      status: 404,
      code: 'not_found_error',
      text: "The model '[^']*' does not exist",
      class: 'model',
    },
    {
      status: 400,
      code: 'invalid_request_error',
      text: "does not support the '/anthropic/v1/messages' API",
      class: 'model',
    },
    {
      status: 400,
      code: null,
      text: 'with on-demand throughput isn.t supported',
      class: 'model',
    },
    {
      status: 400,
      code: null,
      text: 'The provided model identifier is invalid',
      class: 'model',
    },
    {
      status: 400,
      code: null,
      text: "data retention mode '[^']*' is not available for this model",
      class: 'forbidden',
    },
    {
      status: 400,
      code: null,
      text: 'invalid beta flag',
      class: 'body',
    },
    {
      status: 400,
      code: null,
      text: 'Extra inputs are not permitted',
      class: 'body',
    },
    {
      status: 529,
      code: 'overloaded_error',
      text: null,
      class: 'overload',
    },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  catches: [
    "bedrock-mantle takes bare ids only (anthropic.claude-opus-5); bedrock-runtime takes inference profiles; neither takes the other's.",
    'The header anthropic-version is required on bedrock-mantle; the body field anthropic_version belongs to InvokeModel.',
    'Beta features are asked for by header on bedrock-mantle; an unused known beta does no harm, a beta tool type without its header is a 400; what an unknown beta does here is not recorded (InvokeModel answers 400 invalid beta flag).',
    'count_tokens works on bedrock-mantle only; on bedrock-runtime it answers HTTP 200 with an UnknownOperationException body.',
    'Structured output by output_config.format is refused.',
    'Opus 5 and Opus 5.5 put a thinking block in front unasked; under adaptive thinking its text is empty and the trace sits in signature.',
    "Some models (Fable 5) are gated by the account's data retention mode on bedrock-mantle.",
    'Not every model is on both: sonnet-5-5, fable-5-1 and haiku-5-5 are on bedrock-runtime only (October 2026).',
    'Cost attribution goes by the request header anthropic-workspace (a project id).',
  ],
};
