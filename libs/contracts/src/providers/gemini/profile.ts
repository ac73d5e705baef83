import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, STANDARD_CLASSES } from '../compatible.js';

/**
 * A document has at most 1,000 pages. Each page is an image of at most 1,120 tokens, and its text
 * is not charged (ai.google.dev, Document understanding and Media resolution). A second of video
 * has a frame of at most 280 tokens and 32 tokens of audio.
 */
export const GEMINI_ATTACHMENTS: ProviderProfile['attachments'] = {
  documentPages: 1_000,
  pageTokens: 1_120,
  audioTokensPerSecond: 32,
  videoTokensPerSecond: 280 + 32,
};

/** Google Search. Responses do not count its queries. */
export const GOOGLE_SEARCH: ProviderProfile['pricing']['tools'] = [
  { unit: 'web_search', types: [], fields: ['web_search_options'], reportedAt: null, usesMax: 1, boundedBy: null },
];

export const INPUT_TOO_LONG: ProviderProfile['errors'][number] = {
  status: 400,
  code: null,
  text: 'input token count \\(\\d+\\) exceeds the maximum number of tokens',
  class: 'body',
};

export const GEMINI: ProviderProfile = {
  ...DEFAULTS,
  id: 'gemini',
  name: 'Google Gemini API (OpenAI-compatible)',
  checked: '2026-11-23',
  documentation: 'https://ai.google.dev/gemini-api/docs/openai',
  format: 'openai',
  base: 'https://generativelanguage.googleapis.com/v1beta/openai',
  endpoints: { '/v1/chat/completions': '/chat/completions', '/v1/embeddings': '/embeddings' },
  betas: [],
  refuses: ['store', 'metadata', 'prompt_cache_key', 'frequency_penalty'],
  totalExtra: 'output',
  attachments: GEMINI_ATTACHMENTS,
  pricing: {
    classes: STANDARD_CLASSES,
    tools: GOOGLE_SEARCH,
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
    modelAt: 'model',
  },
  errors: [
    { status: 403, code: null, text: 'project has been denied access', class: 'credential' },
    { status: 400, code: null, text: 'API key not (valid|found)|pass a valid API key', class: 'credential' },
    { status: 400, code: 'API_KEY_INVALID', text: null, class: 'credential' },
    { status: 401, code: null, text: null, class: 'credential' },
    { status: 403, code: null, text: 'permission to access the (file|cachedcontent|tuned ?model)', class: 'item' },
    { status: 403, code: 'PERMISSION_DENIED', text: null, class: 'credential' },
    { status: 400, code: 'FAILED_PRECONDITION', text: null, class: 'forbidden' },
    {
      status: null,
      code: null,
      text: 'prepayment credits are depleted|exceeded its monthly spending cap',
      class: 'funds',
    },
    { status: 429, code: null, text: 'limit: 0(?![\\d.])', class: 'funds' },
    { status: 429, code: 'RESOURCE_EXHAUSTED', text: null, class: 'quota' },
    { status: 404, code: null, text: 'is not found for API version|is no longer available', class: 'model' },
    INPUT_TOO_LONG,
    { status: 400, code: 'INVALID_ARGUMENT', text: null, class: 'body' },
    { status: 503, code: 'UNAVAILABLE', text: null, class: 'overload' },
  ],
  keepsState: false,
  keyVariable: 'GEMINI_API_KEY',
  catches: [
    'Errors of this endpoint are an array of ONE element, [{"error":{code,message,status,details}}], for plain and streamed requests. The native endpoint returns the same object without the array. There is no OpenAI type or param. code is a number, and status is Google\'s name.',
    "An invalid key is 400 INVALID_ARGUMENT with reason API_KEY_INVALID, not 401. It is not the client's error, so match it before the general 400 rule.",
    'Thinking tokens are only in total_tokens: completion_tokens excludes them and no field reports them. Charged output is total_tokens - prompt_tokens. (On the native API the total also includes tokens that built-in tools returned as input, so with such a tool the difference is not all output.)',
    'Every chunk of a stream has usage with running values, without a request. Use the last one and do not add them.',
    'A blocked prompt is HTTP 200. Its choice has finish_reason "content_filter: PROHIBITED_CONTENT" (a reason behind a colon, not an OpenAI value), no message key, and 0 completion tokens.',
    'Unknown top-level fields are refused with 400, one sentence per field, joined by newlines. fieldViolations has no field for a top-level name. Vertex ignores such fields.',
    'Exhausted prepaid credit and a spending cap are also 429 RESOURCE_EXHAUSTED, without RetryInfo and for every model of the key. Retries do not help. One report has 402.',
    'retryDelay of a daily quota is hours (39043s seen). Limit it.',
    'The base URL contains its version: .../v1beta/openai/v1/chat/completions is a 404.',
    'The OpenAI path needs Authorization: Bearer. x-goog-api-key belongs to the native paths. Keys starting with AQ. replace AIza keys (2026). An invalid one returns 401 ACCESS_TOKEN_TYPE_UNSUPPORTED.',
    'A tool call may have extra_content.google.thought_signature. The next turn is a 400 if the client does not send it back.',
    'Web search (web_search_options) is billed once per request. Google charges each query of Gemini 3 and later, and each request of Gemini 2.5. The bundled list has a price for Gemini 2.5 only. A price for later models must cover the usual number of queries.',
    'In streams, a tool call may have an empty id and no index. Chunks may have no created.',
    'n > 1 was refused with 400 (Multiple candidates is not enabled for this model), and so was n > 8 (should be between 1 and 8).',
    "Google's own fields go into extra_body.google INSIDE the JSON body (the SDK's extra_body unwraps once). A top-level google field is a 400.",
    'Flex and priority (service_tier, reported in the header x-gemini-service-tier, which shows a downgrade to standard) are documented for GenerateContent and Interactions only. Flex is half price, priority 75 to 100 % more. It is not known whether this endpoint accepts service_tier.',
    'temperature, top_p and top_k are ignored since Gemini 3.6 Flash and announced as a 400 on later models (a notice of 2026-10-06, second hand).',
  ],
};
