import type { ProviderProfile } from '@gateway/contracts/operator';
import { CLIENT_TOOLS, OPENAI_TOOLS } from './openai.js';

/** Prices of the models of OpenAI on Azure, whatever the form of the URL. */
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

/** Errors of the inference endpoints of Azure, whoever made the model. */
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

/** What catches callers of the models of OpenAI on Azure, whatever the form of the URL. */
export const AZURE_CATCHES: ProviderProfile['catches'] = [
  "The model field is the name of a deployment on the resource, not a model name; the answer's model may be either.",
  'A rate-limited streamed Responses call answers 200, then response.created, then an error event with type too_many_requests (code rate_limit_exceeded, too_many_requests or rate_limit_reached) and response.failed; a retry-after header on the 200 is the early sign.',
  'A content-filtered Responses stream sends response.created, response.failed with error null, and only then an error event with the true reason, so reading must not stop at response.failed.',
  'The first frame of a chat stream has empty id, model, object and choices and only prompt_filter_results; asynchronous filter configurations add later frames without delta.',
  'The content_filter error has three forms: error.innererror.content_filter_result (chat), error.content_filters[] (Responses) and inner_error.content_filter_results (seen 2025-01); code is content_filter in all.',
  'A filtered prompt (400) is charged for the prompt and a filtered completion (200, finish_reason content_filter) for prompt and completion although the 400 has no usage.',
  'GPT-5 and o-series deployments refuse max_tokens with 400 unsupported_parameter; max_completion_tokens was accepted by all 14 OpenAI deployments measured on the v1 API.',
  'service_tier flex works only where the model has it (gpt-5.6-sol first); since 2026-09-25 others answer 400 invalid_request_error instead of falling back.',
  "Absent service_tier means the deployment's setting, so a deployment set to priority bills priority for requests that ask nothing.",
  "A priority request may be served and billed as standard (ramp limit, peak, long context); only the answer's service_tier says so, and answers may also say auto.",
  'A stored response made with stream true is often not found for 5 to 30 seconds (previous_response_not_found), and rs_ items fail now and then with Item with id not found; retrying helps.',
  'Web search costs 14.00 for 1,000 searches, more than at OpenAI; a container costs 33.00 for 1,000; no public price of file search and of larger containers was found.',
  '429 no_capacity has no retry time in some answers and is not a quota matter; raising TPM does not help.',
];
