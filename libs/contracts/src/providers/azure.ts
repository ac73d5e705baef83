import type { ProviderProfile } from '../operator/index.js';
import { CLIENT_TOOLS } from './compatible.js';
import { OPENAI_TOOLS } from './openai/profile.js';

/** Prices of OpenAI models on Azure, for all URL forms. */
export const AZURE_PRICING: ProviderProfile['pricing'] = {
  classes: [
    {
      field: 'service_tier',
      asks: { auto: 'standard', default: 'standard', priority: 'priority', flex: 'flex' },
      answersAt: 'service_tier',
      answers: { default: 'standard', auto: 'standard', priority: 'priority', flex: 'flex' },
    },
    {
      field: 'x-ms-service-tier',
      asks: { auto: 'priority', default: 'standard', priority: 'priority', flex: 'flex' },
      answersAt: 'service_tier',
      answers: { default: 'standard', auto: 'standard', priority: 'priority', flex: 'flex' },
    },
  ],
  tools: OPENAI_TOOLS,
  freeTools: [...CLIENT_TOOLS, 'mcp'],
  unpricedFields: {},
};

/** Errors of Azure's inference endpoints, for models of all publishers. */
export const AZURE_ERRORS: ProviderProfile['errors'] = [
  { status: 401, code: null, text: 'invalid subscription key or wrong API endpoint', class: 'credential' },
  { status: 401, code: 'Unauthorized', text: null, class: 'credential' },
  { status: 401, code: null, text: 'Access token is missing, invalid, audience is incorrect', class: 'credential' },
  { status: 401, code: 'PermissionDenied', text: null, class: 'credential' },
  { status: 403, code: null, text: 'resource has been temporarily blocked', class: 'forbidden' },
  { status: 403, code: null, text: 'network|virtual network|firewall|private endpoint', class: 'credential' },
  { status: 404, code: 'DeploymentNotFound', text: null, class: 'model' },
  { status: 400, code: null, text: 'Could not find an existing deployment to match the model', class: 'model' },
  { status: 404, code: null, text: 'Resource not found', class: 'not_found' },
  { status: 404, code: 'api_not_supported', text: null, class: 'model' },
  { status: 400, code: 'context_length_exceeded', text: null, class: 'body' },
  { status: 400, code: 'unsupported_parameter', text: null, class: 'body' },
  { status: 400, code: null, text: 'Unrecognized request argument supplied', class: 'body' },
  { status: 400, code: null, text: 'The requested operation is unsupported', class: 'model' },
  { status: 400, code: 'previous_response_not_found', text: null, class: 'item' },
  { status: 400, code: null, text: "Item with id '.*' not found", class: 'item' },
  { status: 429, code: 'no_capacity', text: null, class: 'overload' },
  { status: 429, code: null, text: 'experiencing high demand|temporarily unable to process', class: 'overload' },
  { status: 429, code: 'RateLimitReached', text: null, class: 'quota' },
];

/** Notes about OpenAI models on Azure, for all URL forms. */
export const AZURE_CATCHES: ProviderProfile['catches'] = [
  "The model field is the name of a deployment on the resource, not a model name. The response's model may be either.",
  'A rate-limited streamed Responses call returns 200, then response.created, then an error event with type too_many_requests (code rate_limit_exceeded, too_many_requests or rate_limit_reached) and response.failed. A retry-after header on the 200 is the early sign.',
  'A content-filtered Responses stream sends response.created, response.failed with error null, and then an error event with the true reason. Do not stop reading at response.failed.',
  'The first frame of a chat stream has empty id, model, object and choices, and only prompt_filter_results. Asynchronous filter configurations add later frames without delta.',
  'The content_filter error has three forms: error.innererror.content_filter_result (chat), error.content_filters[] (Responses) and inner_error.content_filter_results (seen 2025-01). The code is content_filter in all.',
  'A filtered prompt (400) is charged for the prompt, although the 400 has no usage. A filtered completion (200, finish_reason content_filter) is charged for prompt and completion.',
  'GPT-5 and o-series deployments refuse max_tokens with 400 unsupported_parameter. All 14 OpenAI deployments measured on the v1 API accepted max_completion_tokens.',
  'service_tier flex works only for models that support it (gpt-5.6-sol first). Since 2026-09-25 others return 400 invalid_request_error instead of falling back.',
  "An absent service_tier means the deployment's setting, so a deployment set to priority bills priority for requests without the field.",
  "A priority request may be served and billed as standard (ramp limit, peak, long context). Only the response's service_tier shows this, and it may also be auto.",
  'A stored response created with stream true is often not found for 5 to 30 seconds (previous_response_not_found). rs_ items sometimes fail with Item with id not found. Retries help.',
  'Web search costs 14.00 per 1,000 searches, more than at OpenAI. A container costs 33.00 per 1,000. No public price of file search and of larger containers was found.',
  'Some 429 no_capacity responses have no retry time. They are not caused by a quota, so raising TPM does not help.',
];
