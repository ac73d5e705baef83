import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, MESSAGES_PRICING, toSamePaths } from '../compatible.js';
import { CLAUDE_ATTACHMENTS } from '../anthropic/profile.js';

export const BEDROCK_ANTHROPIC: ProviderProfile = {
  ...DEFAULTS,
  id: 'bedrock-anthropic',
  name: 'Amazon Bedrock (Anthropic messages path)',
  checked: '2026-11-23',
  documentation: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html',
  format: 'anthropic',
  base: 'https://bedrock-mantle.{region}.api.aws/anthropic',
  parameters: { region: 'AWS region, such as us-east-1; Claude models differ by region' },
  endpoints: toSamePaths('/v1/messages', '/v1/messages/count_tokens'),
  auth: [
    { type: 'bearer' },
    { type: 'header', header: 'x-api-key' },
    { type: 'sigv4', service: 'bedrock-mantle', region: '{region}' },
  ],
  betas: 'pass',
  attachments: CLAUDE_ATTACHMENTS,
  pricing: MESSAGES_PRICING,
  errors: [
    { status: null, code: null, text: '^internal (server error|failure|error)', class: 'overload' },
    { status: 403, code: 'permission_error', text: null, class: 'credential' },
    { status: null, code: null, text: 'Credential should be scoped to correct service', class: 'credential' },
    { status: 404, code: 'not_found_error', text: "The model '[^']*' does not exist", class: 'model' },
    {
      status: 400,
      code: 'invalid_request_error',
      text: "does not support the '/anthropic/v1/messages' API",
      class: 'model',
    },
    { status: 400, code: null, text: 'with on-demand throughput isn.t supported', class: 'model' },
    { status: 400, code: null, text: 'The provided model identifier is invalid', class: 'model' },
    {
      status: 400,
      code: null,
      text: "data retention mode '[^']*' is not available for this model",
      class: 'forbidden',
    },
    { status: 400, code: null, text: 'invalid beta flag', class: 'body' },
    { status: 400, code: null, text: 'Extra inputs are not permitted', class: 'body' },
    { status: 529, code: 'overloaded_error', text: null, class: 'overload' },
  ],
  keepsState: false,
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  catches: [
    'bedrock-mantle accepts only bare IDs (anthropic.claude-opus-5), and bedrock-runtime only inference profiles.',
    'The header anthropic-version is required on bedrock-mantle. The body field anthropic_version belongs to InvokeModel.',
    'Beta features are requested by header on bedrock-mantle. An unused known beta has no effect, and a beta tool type without its header is a 400. The effect of an unknown beta is not documented (InvokeModel returns 400 invalid beta flag).',
    'count_tokens works on bedrock-mantle only. On bedrock-runtime it returns HTTP 200 with an UnknownOperationException body.',
    'Structured output by output_config.format is refused.',
    'Opus 5 and Opus 5.5 begin with a thinking block without a request for it. With adaptive thinking its text is empty and the trace is in signature.',
    "Access to some models (Fable 5) on bedrock-mantle depends on the account's data retention mode.",
    'Not every model is on both hosts: sonnet-5-5, fable-5-1 and haiku-5-5 are on bedrock-runtime only (October 2026).',
    'Costs are attributed by the request header anthropic-workspace (a project ID).',
  ],
};
