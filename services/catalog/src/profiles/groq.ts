import type { ProviderProfile } from '@gateway/contracts/operator';
import { CLIENT_TOOLS } from './openai.js';

/** Types of executed tools that are priced as a search, and as the visit of a page. */
const SEARCHES = 'search|web_search|browser_search|browser.search';
const VISITS = 'visit|visit_website|browser.open';

export const GROQ: ProviderProfile = {
  id: 'groq',
  name: 'Groq',
  checked: '2026-11-23',
  documentation: 'https://console.groq.com/docs/openai',
  format: 'openai',
  base: 'https://api.groq.com/openai',
  parameters: {},
  endpoints: { '/v1/chat/completions': '/v1/chat/completions', '/v1/responses': '/v1/responses' },
  auth: [{ type: 'bearer' }],
  headers: {},
  betas: [],
  body: {},
  refuses: ['logprobs', 'top_logprobs', 'logit_bias'],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
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
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'GROQ_API_KEY',
  catches: [
    'A stream asked for usage carries the same usage three times (x_groq.usage and usage on the finish chunk, usage on a chunk without choices): take one, never add.',
    'service_tier of a stream was seen only on the extra usage chunk, so the served class is unknown unless include_usage was asked.',
    "413 with code rate_limit_exceeded means the one request is larger than the account's tokens a minute: waiting never helps, another provider may.",
    "x-ratelimit-reset-requests is about the day's requests and x-ratelimit-reset-tokens about the minute's tokens; neither is a wait by itself. retry-after is sent with 429 only.",
    'n other than 1 and messages[].name are answered with 400 too; temperature 0 becomes 1e-8.',
    'x_groq.usage of a plain answer holds other things (dram_cached_tokens, sram_cached_tokens) than x_groq.usage of a stream (the token counts); the hardware counts are not what is billed.',
    "400 tool_use_failed is the model's failure, not the caller's body: the failed text is in error.failed_generation.",
    'JSON mode together with tools is refused with 400.',
    'Streams report an executed tool when it begins and again when it ends, with the same index: it counts once. Searches, visits of pages and other tools have prices of their own.',
    'A model can be blocked for the organization in the console: 403 for a model that is in the list.',
    'Limits hold for the whole organization, so further keys of it do not help.',
  ],
};
