import type { ProviderProfile } from '@gateway/contracts/operator';

/** Tools that a client runs itself: they cost tokens only, whoever serves the model. */
export const CLIENT_TOOLS: ProviderProfile['pricing']['freeTools'] = [
  'function',
  'custom',
  'namespace',
  'tool_search',
  'local_shell',
  'apply_patch',
  'computer',
  'computer_use_preview',
  { type: 'shell', where: { 'environment.type': [null, 'local'], 'environment.skills': [] } },
];

/**
 * A call opens pages too, which costs nothing. Calls without an action are of the time before there
 * were other actions than a search.
 */
export const WEB_SEARCHES = {
  reportedAt: 'output[type=web_search_call,action.type=search|]',
  totalAt: 'tool_usage.web_search.num_requests',
};

type ToolTypes = ProviderProfile['pricing']['tools'][number]['types'];

/** A new container of that memory, without network access and skills. */
function newContainer(memory: readonly (string | null)[]): ToolTypes {
  const options = (member: string): Record<string, (string | null)[]> => ({
    [`${member}.memory_limit`]: [...memory],
    [`${member}.file_ids`]: [],
    [`${member}.network_policy.type`]: [null, 'disabled'],
  });
  return [
    { type: 'code_interpreter', where: { 'container.type': [null, 'auto'], ...options('container') } },
    { type: 'shell', where: { 'environment.type': ['container_auto'], ...options('environment') } },
  ];
}

/** A container is billed once, whatever number of calls a response makes in it. */
const CONTAINERS = {
  fields: [],
  reportedAt: 'output[type=code_interpreter_call|shell_call,environment.type!=local]',
  distinct: ['container_id', 'environment.container_id'],
  boundedBy: null,
};

/** Tools of its Responses API that are priced by the use. */
export const OPENAI_TOOLS: ProviderProfile['pricing']['tools'] = [
  {
    unit: 'web_search',
    types: ['web_search', 'web_search_2*'],
    fields: [],
    ...WEB_SEARCHES,
    usesMax: 10,
    boundedBy: 'max_tool_calls',
  },
  {
    unit: 'web_search_preview',
    types: ['web_search_preview*'],
    fields: [],
    ...WEB_SEARCHES,
    usesMax: 10,
    boundedBy: 'max_tool_calls',
  },
  {
    unit: 'file_search',
    types: ['file_search'],
    fields: [],
    reportedAt: 'output[type=file_search_call]',
    usesMax: 10,
    boundedBy: 'max_tool_calls',
  },
  {
    // The request does not show how large a container is that it names.
    unit: 'container',
    otherSizes: ['container_4g', 'container_16g', 'container_64g'],
    types: [
      { type: 'code_interpreter', where: { container: ['*'] } },
      { type: 'shell', where: { 'environment.type': ['container_reference'], 'environment.container_id': ['*'] } },
    ],
    ...CONTAINERS,
    usesMax: 1,
  },
  { unit: 'container', types: newContainer([null, '1g']), ...CONTAINERS, usesMax: 3 },
  { unit: 'container_4g', types: newContainer(['4g']), ...CONTAINERS, usesMax: 3 },
  { unit: 'container_16g', types: newContainer(['16g']), ...CONTAINERS, usesMax: 3 },
  { unit: 'container_64g', types: newContainer(['64g']), ...CONTAINERS, usesMax: 3 },
  {
    unit: 'image_gen_input',
    types: [{ type: 'image_generation', where: { model: [null] } }],
    fields: [],
    reportedAt: 'tool_usage.image_gen.input_tokens',
    usesMax: 10_000,
    boundedBy: null,
  },
  {
    unit: 'image_gen_output',
    types: [{ type: 'image_generation', where: { model: [null] } }],
    fields: [],
    reportedAt: 'tool_usage.image_gen.output_tokens',
    usesMax: 10_000,
    boundedBy: null,
  },
];

/** A token of input is 100 ms of audio (platform.openai.com, Managing costs). */
export const OPENAI_ATTACHMENTS: ProviderProfile['attachments'] = { audioTokensPerSecond: 10 };

export const OPENAI: ProviderProfile = {
  id: 'openai',
  name: 'OpenAI',
  checked: '2026-11-23',
  documentation: 'https://developers.openai.com/api/docs',
  format: 'openai',
  base: 'https://api.openai.com',
  parameters: {},
  endpoints: {
    '/v1/chat/completions': '/v1/chat/completions',
    '/v1/completions': '/v1/completions',
    '/v1/embeddings': '/v1/embeddings',
    '/v1/responses': '/v1/responses',
  },
  auth: [{ type: 'bearer' }],
  headers: {},
  forwardHeaders: [
    'conversation_id',
    'session-id',
    'session_id',
    'thread-id',
    'x-client-request-id',
    'x-openai-internal-codex-responses-lite',
  ],
  betas: [],
  body: {},
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  attachments: OPENAI_ATTACHMENTS,
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: {
          auto: 'standard',
          default: 'standard',
          flex: 'flex',
          priority: 'priority',
          fast: 'priority',
          scale: 'standard',
        },
        answersAt: 'service_tier',
        answers: { default: 'standard', flex: 'flex', priority: 'priority', fast: 'priority', scale: 'standard' },
      },
    ],
    tools: [
      ...OPENAI_TOOLS,
      {
        unit: 'web_search_chat',
        types: [],
        fields: ['web_search_options'],
        reportedAt: null,
        usesMax: 1,
        boundedBy: null,
      },
    ],
    freeTools: [...CLIENT_TOOLS, 'mcp'],
    unpricedFields: {
      background: ['true'],
    },
    modelAt: 'model',
  },
  errors: [
    { status: 401, code: 'invalid_api_key', text: null, class: 'credential' },
    { status: null, code: 'incorrect_hostname', text: null, class: 'credential' },
    { status: 403, code: null, text: 'Country, region, or territory not supported', class: 'forbidden' },
    { status: 404, code: 'model_not_found', text: null, class: 'model' },
    { status: 429, code: 'insufficient_quota', text: null, class: 'funds' },
    { status: 429, code: 'credit_balance_exhausted', text: null, class: 'funds' },
    { status: 429, code: 'organization_spend_limit_exceeded', text: null, class: 'funds' },
    { status: 429, code: 'project_spend_limit_exceeded', text: null, class: 'funds' },
    { status: 429, code: 'organization_usage_limit_exceeded', text: null, class: 'funds' },
    { status: 429, code: 'slow_down', text: null, class: 'quota' },
    { status: 429, code: null, text: 'resource unavailable', class: 'overload' },
    { status: 429, code: 'rate_limit_exceeded', text: null, class: 'quota' },
    { status: null, code: 'server_is_overloaded', text: null, class: 'overload' },
    { status: null, code: 'service_unavailable_error', text: null, class: 'overload' },
    { status: null, code: 'previous_response_not_found', text: null, class: 'item' },
    { status: null, code: 'cyber_policy', text: null, class: 'content' },
    { status: null, code: 'image_content_policy_violation', text: null, class: 'content' },
    { status: 400, code: null, text: 'Invalid service_tier argument', class: 'forbidden' },
    { status: null, code: 'context_length_exceeded', text: null, class: 'body' },
    { status: null, code: 'unsupported_parameter', text: null, class: 'body' },
    { status: null, code: 'unknown_parameter', text: null, class: 'body' },
    { status: null, code: 'unsupported_value', text: null, class: 'body' },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: true,
  keyVariable: 'OPENAI_API_KEY',
  catches: [
    "A request without service_tier may run (and be charged) as Fast when the key's project has Project Service Tier = Fast; send service_tier default to be sure.",
    'service_tier of response.created and response.in_progress only echoes the request; only the terminal event (or the plain body, or chat chunks) says what was served; a priority request served as default is charged standard.',
    "The same Fast tier answers 'fast' on gpt-6 models and 'priority' on gpt-5.6 models, whichever of the two names was asked.",
    'The tier ultrafast costs six times as much. No price class stands for it, so requests for it are refused.',
    'Since gpt-5.6 cache writes cost 1.25 of input and are reported inside input_tokens: uncached = input - cached - cache_write.',
    "A web search is the provider's own count at tool_usage.web_search.num_requests, else each web_search_call whose action is a search; opening a page and searching in it cost nothing.",
    'A container (code interpreter, hosted shell) is billed once for each container of a response, by its memory: units container (1 GB), container_4g, container_16g, container_64g. Network access and skills have no price. The bundled list has the price of 1 GB alone.',
    'A container that a request names by its ID is billed once for each response that uses it, also in a later response of the same session, at the most expensive size that the model has a price for: the ID does not show the size.',
    'Image generation as a tool is charged in tokens of another model, at tool_usage.image_gen beside usage: units image_gen_input and image_gen_output, a use being a token.',
    'Codex sends its tools as an item of the input, and says so in the header x-openai-internal-codex-responses-lite.',
    'A stored prompt brings tools that a request does not show. What the response reports of them is charged if it has a price, else it is on the record as unpriced.',
    'More than 272K input tokens makes the whole request long-context price (2x input, 1.5x output) on gpt-5.4 and later; Fast excluded long context for gpt-5.5 and older.',
    'Four different billing stops all come as 429 type insufficient_quota; read error.code, never retry them.',
    'Overload often comes inside HTTP 200 as event: error after response.in_progress (sequence_number 2), followed by response.failed; the error may be nested under error{} or flat on the event.',
    'Billing of an aborted stream: the usage chunk or response.completed never comes, so the gateway must estimate; what OpenAI then charges was not settled.',
    'max_tokens is refused by reasoning models on chat completions (unsupported_parameter); max_completion_tokens is the name there.',
    'stream_options.include_usage belongs to chat and completions; the Responses API always sends usage in its terminal event and knows only include_obfuscation.',
    'response.incomplete is a terminal event with usage too (max_output_tokens, content_filter) and must be charged.',
    'x-ratelimit-reset-* is the time until the budget is FULL again, not until one request fits; prefer retry-after-ms.',
    "previous_response_id, conversation, file ids and containers live in the key's project: a follow-up sent with another project's key fails with previous_response_not_found.",
    'Regional projects answer incorrect_hostname on any other host than their own.',
  ],
};
