import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, toSamePaths } from '../compatible.js';

/**
 * Searches are charged, and opening a page is free. Items without an action date from before other
 * actions existed.
 */
export const WEB_SEARCHES = {
  reportedAt: 'output[type=web_search_call,action.type=search|]',
  totalAt: 'tool_usage.web_search.num_requests',
};

type ToolTypes = ProviderProfile['pricing']['tools'][number]['types'];

/** Selects a new container with this memory, without network access and skills. */
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

/** A container is billed once per response, for any number of calls in it. */
const CONTAINERS = {
  fields: [],
  reportedAt: 'output[type=code_interpreter_call|shell_call,environment.type!=local]',
  distinct: ['container_id', 'environment.container_id'],
  boundedBy: null,
};

/** Tools of OpenAI's Responses API that are charged per use. */
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
    // The request does not show the size of a container that it references.
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

/** An input token is 100 ms of audio (platform.openai.com, Managing costs). */
export const OPENAI_ATTACHMENTS: ProviderProfile['attachments'] = { audioTokensPerSecond: 10 };

export const OPENAI: ProviderProfile = {
  ...DEFAULTS,
  id: 'openai',
  name: 'OpenAI',
  checked: '2026-11-23',
  documentation: 'https://developers.openai.com/api/docs',
  format: 'openai',
  base: 'https://api.openai.com',
  endpoints: toSamePaths('/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'),
  forwardHeaders: [
    'conversation_id',
    'session-id',
    'session_id',
    'thread-id',
    'x-client-request-id',
    'x-openai-internal-codex-responses-lite',
  ],
  betas: [],
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
    unpricedFields: { background: ['true'] },
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
  keyVariable: 'OPENAI_API_KEY',
  catches: [
    "A request without service_tier may run (and be charged) as Fast if the key's project has Project Service Tier = Fast. Send service_tier default to prevent this.",
    'service_tier of response.created and response.in_progress only repeats the request. Only the terminal event (or the plain body, or chat chunks) has the served class. A priority request served as default is charged standard.',
    "The same Fast tier is reported as 'fast' on gpt-6 models and as 'priority' on gpt-5.6 models, whichever of the two names was requested.",
    'The tier ultrafast costs six times as much. It has no price class here, so requests for it are refused.',
    'Since gpt-5.6, cache writes cost 1.25 of input and are reported inside input_tokens: uncached = input - cached - cache_write.',
    "The number of web searches is the provider's count at tool_usage.web_search.num_requests, else the number of web_search_call items whose action is a search. Opening a page and searching in it are free.",
    'A container (code interpreter, hosted shell) is billed once per response, by its memory: units container (1 GB), container_4g, container_16g, container_64g. Network access and skills have no price. The bundled list has only the price of 1 GB.',
    'A container that a request references by ID is billed once per response that uses it, also in a later response of the same session. The price is that of the most expensive size that the model has a price for, because the ID does not show the size.',
    'Image generation as a tool is charged in tokens of another model, reported at tool_usage.image_gen in addition to usage: units image_gen_input and image_gen_output, where one use is one token.',
    'Codex sends its tools as an item of the input, which the header x-openai-internal-codex-responses-lite indicates.',
    'A stored prompt adds tools that a request does not show. Uses that the response reports are charged if they have a price, else the record lists them as unpriced.',
    'With more than 272K input tokens, the whole request has the long-context price (2x input, 1.5x output) on gpt-5.4 and later. Fast excluded long context for gpt-5.5 and older.',
    'Four different billing limits are all 429 type insufficient_quota. Read error.code, and do not retry them.',
    'Overload is often in an HTTP 200 as event: error after response.in_progress (sequence_number 2), followed by response.failed. The error may be nested under error{} or flat on the event.',
    'An aborted stream has no usage chunk or response.completed, so the gateway must estimate. It is not known what OpenAI then charges.',
    'Reasoning models refuse max_tokens on chat completions (unsupported_parameter). Use max_completion_tokens.',
    'stream_options.include_usage belongs to chat and completions. The Responses API always sends usage in its terminal event and supports only include_obfuscation.',
    'response.incomplete is also a terminal event with usage (max_output_tokens, content_filter) and must be charged.',
    'x-ratelimit-reset-* is the time until the budget is FULL again, not until one request fits. Prefer retry-after-ms.',
    "previous_response_id, conversation, file IDs and containers belong to the key's project. A follow-up sent with another project's key fails with previous_response_not_found.",
    'Regional projects return incorrect_hostname on all hosts except their own.',
  ],
};
