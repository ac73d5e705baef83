/**
 * Errors for the profile rules that match no recorded response, copied from public documentation
 * and reports: profiles, status (null inside a stream), body, class.
 */
export type RuleError = readonly [profiles: string, status: number | null, body: unknown, errorClass: string];

const errorBody = (message: string, code: string | null = null, type: string | null = null) => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message: string, details?: object) => ({
  type: 'error',
  error: { type, message, ...(details === undefined ? {} : { details }) },
});
const google = (status: string, message: string, reason?: string) => [
  { error: { message, status, ...(reason === undefined ? {} : { details: [{ reason }] }) } },
];
const limited = (reason: string, metadata: object = {}) => ({
  error: { message: 'Limit reached', metadata: { reason, ...metadata } },
});

const AZURE = 'azure-openai azure-deployments foundry';
const VERTEX = 'vertex vertex-anthropic';
const BEDROCK = 'bedrock bedrock-mantle';
const KIMI = 'moonshot moonshot-anthropic';

export const RULE_ERRORS: readonly RuleError[] = [
  ['anthropic', 402, anthropic('billing_error', 'There is an issue with your billing.'), 'funds'],
  ['anthropic', 429, anthropic('enforced_spend_limit_reached', 'You have reached your limit.'), 'funds'],
  ['anthropic', 403, anthropic('permission_error', 'Your key may not use this resource.'), 'forbidden'],
  ['anthropic', 404, anthropic('not_found_error', 'File not found: file_1'), 'item'],
  ['anthropic', 413, anthropic('request_too_large', 'Request exceeds the maximum size'), 'body'],
  ['anthropic', 504, anthropic('timeout_error', 'The request timed out.'), 'late'],

  [AZURE, 401, errorBody('Denied.', 'Unauthorized'), 'credential'],
  [
    `${AZURE} foundry-anthropic`,
    401,
    errorBody('Access token is missing, invalid, audience is incorrect (https://ai.azure.com).'),
    'credential',
  ],
  [
    `${AZURE} foundry-anthropic`,
    401,
    errorBody('The principal lacks the required data action.', 'PermissionDenied'),
    'credential',
  ],
  [AZURE, 403, errorBody('This resource has been temporarily blocked.'), 'forbidden'],
  [AZURE, 403, errorBody('Access denied due to Virtual Network/Firewall rules.'), 'credential'],
  [AZURE, 400, errorBody('Could not find an existing deployment to match the model'), 'model'],
  [AZURE, 404, errorBody('Resource not found', '404'), 'not_found'],
  [AZURE, 404, errorBody('This API is not served for this deployment.', 'api_not_supported'), 'model'],
  [AZURE, 400, errorBody('Too long.', 'context_length_exceeded'), 'body'],
  [AZURE, 400, errorBody("Unsupported parameter: 'max_tokens'.", 'unsupported_parameter'), 'body'],
  [AZURE, 400, errorBody('Unrecognized request argument supplied: foo'), 'body'],
  [AZURE, 400, errorBody('The requested operation is unsupported.', 'OperationNotSupported'), 'model'],
  [AZURE, 400, errorBody('Previous response not found.', 'previous_response_not_found'), 'item'],
  [AZURE, 400, errorBody("Item with id 'rs_1' not found."), 'item'],
  [AZURE, 429, errorBody('No capacity.', 'no_capacity'), 'overload'],
  [AZURE, 429, errorBody('The service is experiencing high demand.'), 'overload'],
  ['foundry', 400, errorBody('Unknown argument', 'unrecognized_request_argument'), 'body'],
  ['foundry', 410, errorBody('This model has been retired.'), 'model'],
  ['foundry-anthropic', 400, anthropic('x', 'Unexpected value(s) `a-1` for the `anthropic-beta` header.'), 'body'],

  [BEDROCK, null, { message: 'Internal server error' }, 'overload'],
  ['bedrock', 401, errorBody('Invalid bearer token'), 'credential'],
  [
    `${BEDROCK} bedrock-anthropic`,
    401,
    errorBody('Credential should be scoped to correct service: bedrock-mantle.'),
    'credential',
  ],
  [BEDROCK, 403, errorBody('Credential should be scoped to correct service: bedrock-mantle.'), 'credential'],
  ['bedrock', 403, errorBody('Denied.', 'access_denied'), 'credential'],
  [
    BEDROCK,
    403,
    errorBody('User: arn:aws:iam::1:user/a is not authorized to perform: bedrock:InvokeModel'),
    'credential',
  ],
  [BEDROCK, 401, errorBody('This model is not enabled for the account.'), 'model'],
  ['bedrock', 400, errorBody("The model isn't supported on this route.", 'validation_error'), 'model'],
  ['bedrock', 400, errorBody("The model 'a' does not support the '/v1/responses' API"), 'model'],
  [`${BEDROCK} bedrock-anthropic`, 400, { message: 'The provided model identifier is invalid.' }, 'model'],
  [`${BEDROCK} bedrock-anthropic`, 400, { message: "Invocation with on-demand throughput isn't supported." }, 'model'],
  ['bedrock', 404, errorBody("The model 'openai.a' does not exist"), 'model'],
  [BEDROCK, 400, errorBody('Gone.', 'previous_response_not_found'), 'item'],
  [BEDROCK, 400, errorBody("data retention mode 'none' is not available for this model"), 'forbidden'],
  [BEDROCK, 400, errorBody('max_tokens exceeds the model maximum (4096)'), 'body'],
  [BEDROCK, 400, errorBody('Bad.', 'invalid_value'), 'body'],
  [BEDROCK, 400, errorBody('Bad.', 'validation_error'), 'body'],
  ['bedrock-anthropic', 403, anthropic('permission_error', 'No access.'), 'credential'],
  ['bedrock-anthropic', 400, { message: 'invalid beta flag' }, 'body'],

  ['cohere', 404, { message: "model 'x' not found" }, 'model'],
  ['deepseek-anthropic', 400, errorBody('Model Not Exist'), 'model'],
  ['fireworks', 403, errorBody('Forbidden'), 'credential'],

  ['gemini', 400, google('INVALID_ARGUMENT', 'Renew it.', 'API_KEY_INVALID'), 'credential'],
  [
    'gemini',
    403,
    google('PERMISSION_DENIED', 'You do not have permission to access the File abc or it may not exist.'),
    'item',
  ],
  [
    'gemini',
    403,
    google('PERMISSION_DENIED', 'Your API key was reported as leaked. Please use another API key.'),
    'credential',
  ],
  ['gemini', 400, google('FAILED_PRECONDITION', 'User location is not supported for the API use.'), 'forbidden'],
  [
    'gemini',
    429,
    google(
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3.1-pro',
    ),
    'funds',
  ],
  [VERTEX, 401, google('UNAUTHENTICATED', 'Request had invalid authentication credentials.'), 'credential'],
  [
    VERTEX,
    403,
    google('PERMISSION_DENIED', 'Cloud API has not been used in project 1 before.', 'SERVICE_DISABLED'),
    'credential',
  ],
  [
    VERTEX,
    403,
    errorBody("Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p'"),
    'credential',
  ],
  [VERTEX, 400, google('FAILED_PRECONDITION', 'Precondition check failed.'), 'forbidden'],
  [VERTEX, 400, errorBody('Project `p` is not allowed to use Publisher Model `m`'), 'forbidden'],
  [
    'vertex',
    400,
    errorBody('The input token count (3000000) exceeds the maximum number of tokens allowed (1048576).'),
    'body',
  ],
  ['vertex', 503, google('UNAVAILABLE', 'The service is currently unavailable.'), 'overload'],

  ['groq', 400, errorBody('Please reduce the length.', 'context_length_exceeded'), 'body'],
  ['llamacpp', null, errorBody('the request exceeds the context', null, 'exceed_context_size_error'), 'body'],
  ['llamacpp', 403, errorBody('no', null, 'permission_error'), 'forbidden'],
  ['llamacpp', 400, errorBody('bad', null, 'invalid_request_error'), 'body'],
  ['lmstudio', null, { error: 'Model is unloaded.' }, 'overload'],
  ['lmstudio', null, errorBody('gone', 'previous_response_not_found'), 'item'],
  [KIMI, null, errorBody('over', null, 'exceeded_current_quota_error'), 'funds'],
  [KIMI, null, errorBody('Your account is suspended due to insufficient balance'), 'funds'],
  [KIMI, 404, errorBody('no such model', null, 'resource_not_found_error'), 'model'],
  [KIMI, null, errorBody('busy', null, 'engine_overloaded_error'), 'overload'],
  [KIMI, null, errorBody('The request was rejected because it was considered high risk'), 'content'],
  [KIMI, null, errorBody('Your request exceeded model token limit: 262144'), 'body'],
  ['ollama', 400, { error: 'the input exceeds the available context size' }, 'body'],

  ['openai', 401, errorBody('Use us.api.openai.com.', 'incorrect_hostname'), 'credential'],
  ['openai', 403, errorBody('Country, region, or territory not supported'), 'forbidden'],
  ...['credit_balance_exhausted', 'organization_spend_limit_exceeded', 'project_spend_limit_exceeded'].map(
    (code): RuleError => ['openai', 429, errorBody('Stopped.', code), 'funds'],
  ),
  ['openai', 429, errorBody('Stopped.', 'organization_usage_limit_exceeded'), 'funds'],
  ['openai', 429, errorBody('Slow down.', 'slow_down'), 'quota'],
  ['openai', 429, errorBody('Resource unavailable. Try again later.'), 'overload'],
  ['openai', null, errorBody('Busy.', null, 'service_unavailable_error'), 'overload'],
  ['openai', 400, errorBody('No.', 'cyber_policy'), 'content'],
  ['openai', 400, errorBody('No.', 'image_content_policy_violation'), 'content'],
  ['openai', 400, errorBody('Unknown parameter', 'unknown_parameter'), 'body'],
  ['openai', 400, errorBody('Unsupported value', 'unsupported_value'), 'body'],

  ['openrouter', 402, limited('other', { limit_source: 'openrouter_in_flight_budget' }), 'quota'],
  ...['guardrail_budget', 'workspace_budget', 'key_limit'].map((name): RuleError => [
    'openrouter',
    403,
    limited('other', { limit_source: `openrouter_${name}` }),
    'funds',
  ]),
  ['openrouter', 400, errorBody('too long', 'context_length_exceeded'), 'body'],
  ['openrouter', 400, { error: { message: 'no', metadata: { error_type: 'refusal' } } }, 'content'],
  ['openrouter', 504, errorBody('late'), 'late'],
  ['perplexity', 400, errorBody('bad', null, 'invalid_parameter'), 'body'],
  ['sglang', 400, errorBody('bad', null, 'BadRequestError'), 'body'],
  ['sglang', 501, errorBody('no', null, 'NotImplementedError'), 'not_found'],
  ['together', 404, errorBody('nothing here'), 'model'],
  ['together', 403, errorBody('inputs and max_new_tokens must be less'), 'body'],
  ['together', 422, errorBody('Input validation error: bad'), 'body'],
  ['together', 504, errorBody('late'), 'late'],
  ['vllm', 501, errorBody('The model does not support Completions API', null, 'NotImplementedError'), 'not_found'],
  ['vllm', 422, errorBody('bad', null, 'UnprocessableEntityError'), 'body'],
  ['xai', null, { code: 'x', error: 'The model is currently at capacity' }, 'overload'],
  ['xai', null, { code: 'The service is currently unavailable', error: 'later' }, 'overload'],
  ['xai', null, { code: 'x', error: 'Timed out waiting for first token' }, 'late'],
];
