import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, toSamePaths } from '../compatible.js';

/**
 * Claude scales an image down to 4,784 tokens (platform.claude.com, Vision). A request has at most
 * 600 pages of PDF, each up to 3,000 tokens of text and an image (PDF support).
 */
export const CLAUDE_ATTACHMENTS: ProviderProfile['attachments'] = {
  imageTokens: 4_784,
  documentPages: 600,
  pageTokens: 3_000 + 4_784,
};

/** The class of fast responses. */
export const CLAUDE_SPEED: ProviderProfile['pricing']['classes'][number] = {
  field: 'speed',
  asks: { standard: 'standard', fast: 'fast' },
  answersAt: 'usage.speed',
  answers: { standard: 'standard', fast: 'fast' },
  betas: ['fast-mode-'],
};

/** Web searches that the provider runs. */
export const CLAUDE_SEARCH: ProviderProfile['pricing']['tools'][number] = {
  unit: 'web_search',
  types: ['web_search_*'],
  fields: [],
  reportedAt: 'usage.server_tool_use.web_search_requests',
  usesMax: 10,
  boundedBy: 'max_uses',
};

export const ANTHROPIC: ProviderProfile = {
  ...DEFAULTS,
  id: 'anthropic',
  name: 'Anthropic API',
  checked: '2026-11-23',
  documentation: 'https://platform.claude.com/docs/en/api/messages',
  format: 'anthropic',
  base: 'https://api.anthropic.com',
  endpoints: toSamePaths('/v1/messages', '/v1/messages/count_tokens'),
  auth: [{ type: 'header', header: 'x-api-key' }, { type: 'bearer' }],
  betas: 'standard',
  refuses: ['stream_options', 'response_format', 'extra_body', 'n'],
  attachments: CLAUDE_ATTACHMENTS,
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: { auto: 'standard', standard_only: 'standard' },
        answersAt: 'usage.service_tier',
        answers: { standard: 'standard', priority: 'priority' },
      },
      CLAUDE_SPEED,
    ],
    tools: [
      CLAUDE_SEARCH,
      // Billed by the hour. Responses do not count the hours, and a request runs for less than one.
      {
        unit: 'code_execution_hour',
        types: ['code_execution_*'],
        fields: [],
        reportedAt: null,
        usesMax: 1,
        boundedBy: null,
      },
    ],
    freeTools: [
      'custom',
      'bash_*',
      'text_editor_*',
      'computer_*',
      'memory_*',
      'web_fetch_*',
      'tool_search_*',
      'mcp_toolset',
    ],
    unpricedFields: { inference_geo: ['us'], fallbacks: [] },
    unpricedAnswers: { 'usage.inference_geo': ['us'] },
    modelAt: 'model',
  },
  errors: [
    { status: 400, code: null, text: 'credit balance is too low', class: 'funds' },
    { status: 400, code: null, text: 'reached your specified API usage limits', class: 'funds' },
    { status: 402, code: 'billing_error', text: null, class: 'funds' },
    { status: 429, code: 'enforced_spend_limit_reached', text: null, class: 'funds' },
    { status: 429, code: null, text: 'monthly spend limit', class: 'funds' },
    { status: 401, code: 'authentication_error', text: null, class: 'credential' },
    { status: 403, code: 'permission_error', text: null, class: 'forbidden' },
    { status: 404, code: 'not_found_error', text: '^model: ', class: 'model' },
    { status: 404, code: 'not_found_error', text: null, class: 'item' },
    { status: 413, code: 'request_too_large', text: null, class: 'body' },
    { status: 429, code: 'rate_limit_error', text: null, class: 'quota' },
    { status: null, code: 'overloaded_error', text: null, class: 'overload' },
    { status: null, code: 'api_error', text: 'Overloaded', class: 'overload' },
    { status: 504, code: 'timeout_error', text: null, class: 'late' },
    { status: 400, code: 'invalid_request_error', text: null, class: 'body' },
  ],
  keyVariable: 'ANTHROPIC_API_KEY',
  catches: [
    "Top-level usage is not the complete bill. Compaction and advisor samplings are only in usage.iterations, and the advisor has another model's price.",
    'With server-side fallback, the top level describes only the serving attempt. A declined attempt that had produced output is charged at the requested model and appears in iterations as type message.',
    'A refusal is HTTP 200 with stop_reason refusal. A refusal before any output is not charged, although usage reports tokens. A refusal in mid-stream is charged.',
    'With fallbacks, the answering model (response.model) may differ from the requested one. Price by iterations[].model or response.model.',
    'message_delta.usage counts are cumulative totals that replace those of message_start. Never add them. With server tools, input_tokens grows between the two.',
    'Fast mode (speed) needs its beta header on Opus 5 and older models. Opus 5.5 and Fable 5.2 need none.',
    'usage.service_tier is never fast. Fast mode is reported at usage.speed, which may be standard for a request with speed fast.',
    'inference_geo may be set for the whole workspace. A factor of 1.1 without a request for it appears only at usage.inference_geo, and the record lists it as unpriced.',
    'Code execution is billed per container hour, which no response reports. If it has a price (unit code_execution_hour), a request with this tool is charged one hour.',
    'Exhausted funds have four forms: 400 credit balance, 400 usage limits (own limit), 402 billing_error, 429 with details.error_code enforced_spend_limit_reached.',
    'A 429 without retry-after is probably the spend limit and lasts until the end of the month (one report has it with a retry-after of minutes).',
    "Overload can be 529 overloaded_error, 500 api_error 'Overloaded', or an SSE error event in a 200. After such an event there is no message_stop and no final usage.",
    "Unknown top-level fields are refused with 400 '<field>: Extra inputs are not permitted'. So are beta fields without their anthropic-beta header (context_management, speed, fallbacks).",
    'advisor_tool_result, fallback, compaction and server tool blocks must be sent back verbatim in the next turn. Omitting or changing them is a 400 or changes the meaning.',
    '413 comes from Cloudflare in front of the API and may not be JSON.',
    "Errors have x-should-retry (true|false), which is the provider's own advice on retries.",
    'Priority Tier commitments are no longer sold. service_tier is still accepted (auto, standard_only).',
    'An aborted stream has no final usage. It is not known what Anthropic then charges.',
  ],
};
