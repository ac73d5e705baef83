import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, toSamePaths } from '../compatible.js';

/** Types of executed tools with the price of a search, and with the price of a page visit. */
const SEARCHES = 'search|web_search|browser_search|browser.search';
const VISITS = 'visit|visit_website|browser.open';

export const GROQ: ProviderProfile = {
  ...DEFAULTS,
  id: 'groq',
  name: 'Groq',
  checked: '2026-11-23',
  documentation: 'https://console.groq.com/docs/openai',
  format: 'openai',
  base: 'https://api.groq.com/openai',
  endpoints: toSamePaths('/v1/chat/completions', '/v1/responses'),
  betas: [],
  refuses: ['logprobs', 'top_logprobs', 'logit_bias'],
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: { on_demand: 'standard', auto: 'standard', flex: 'flex', performance: 'priority' },
        answersAt: 'service_tier',
        answers: { on_demand: 'standard', auto: 'standard', flex: 'flex', performance: 'priority' },
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['web_search', 'browser_search'],
        fields: ['compound_custom'],
        reportedAt: `choices[].message|delta.executed_tools[type=${SEARCHES}]`,
        distinct: ['index'],
        usesMax: 10,
        boundedBy: null,
      },
      {
        unit: 'visit_website',
        types: ['visit_website', 'browser_search'],
        fields: ['compound_custom'],
        reportedAt: `choices[].message|delta.executed_tools[type=${VISITS}]`,
        distinct: ['index'],
        usesMax: 10,
        boundedBy: null,
      },
      {
        unit: 'server_tool',
        types: ['code_interpreter', 'browser_automation', 'wolfram_alpha'],
        fields: ['compound_custom'],
        reportedAt: `choices[].message|delta.executed_tools[type!=${SEARCHES}|${VISITS}]`,
        distinct: ['index'],
        usesMax: 10,
        boundedBy: null,
      },
    ],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: 401, code: 'invalid_api_key', text: null, class: 'credential' },
    { status: 400, code: 'organization_restricted', text: null, class: 'credential' },
    { status: 403, code: 'model_permission_blocked_org', text: null, class: 'forbidden' },
    { status: 404, code: 'model_not_found', text: null, class: 'model' },
    { status: 400, code: 'model_decommissioned', text: null, class: 'model' },
    { status: 429, code: 'rate_limit_exceeded', text: null, class: 'quota' },
    { status: 413, code: 'rate_limit_exceeded', text: null, class: 'quota' },
    { status: 498, code: 'capacity_exceeded', text: null, class: 'overload' },
    { status: 400, code: 'context_length_exceeded', text: null, class: 'body' },
  ],
  keepsState: false,
  keyVariable: 'GROQ_API_KEY',
  catches: [
    'A stream with requested usage has the same usage three times (x_groq.usage and usage on the finish chunk, usage on a chunk without choices). Use one and do not add them.',
    'service_tier of a stream was seen only on the extra usage chunk, so the served class is unknown without include_usage.',
    "413 with code rate_limit_exceeded means that one request is larger than the account's tokens per minute. Waiting does not help, but another provider may.",
    "x-ratelimit-reset-requests is for the day's requests and x-ratelimit-reset-tokens for the minute's tokens. Neither is a time to wait. retry-after is sent with 429 only.",
    'n other than 1 and messages[].name are also refused with 400. temperature 0 becomes 1e-8.',
    'x_groq.usage of a plain response has other fields (dram_cached_tokens, sram_cached_tokens) than x_groq.usage of a stream (the token counts). The hardware counts are not billed.',
    "400 tool_use_failed is the model's error, not the client's. The failed text is in error.failed_generation.",
    'JSON mode with tools is refused with 400.',
    'Streams report an executed tool at its beginning and end, with the same index. It counts once. Searches, page visits and other tools have separate prices.',
    'A model can be blocked for the organization in the console. It is then listed but returns 403.',
    'Limits apply to the whole organization, so more keys do not help.',
  ],
};
