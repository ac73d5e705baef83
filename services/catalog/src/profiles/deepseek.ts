import type { ProviderProfile } from '@gateway/contracts/operator';
import { CLIENT_TOOLS, WEB_SEARCHES } from './openai.js';

export const DEEPSEEK: ProviderProfile = {
  id: 'deepseek',
  name: 'DeepSeek',
  checked: '2026-11-23',
  documentation: 'https://api-docs.deepseek.com/',
  format: 'openai',
  base: 'https://api.deepseek.com',
  parameters: {},
  endpoints: {
    '/v1/chat/completions': '/chat/completions',
    '/v1/completions': '/beta/completions',
    '/v1/responses': '/responses',
  },
  auth: [{ type: 'bearer' }],
  headers: {},
  betas: [],
  body: {},
  refuses: [],
  streamUsage: 'asked',
  totalExtra: 'reasoning',
  pricing: {
    classes: [
      {
        field: 'service_tier',
        asks: { auto: 'standard', default: 'standard' },
        answersAt: null,
        answers: {},
      },
    ],
    tools: [
      {
        unit: 'web_search',
        types: ['web_search'],
        fields: [],
        ...WEB_SEARCHES,
        usesMax: 10,
        boundedBy: null,
      },
    ],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: 400, code: null, text: 'Model Not Exist|The supported API model names are', class: 'model' },
    { status: 400, code: null, text: 'maximum context length is', class: 'body' },
    { status: 400, code: null, text: 'Failed to deserialize the JSON body', class: 'body' },
  ],
  unlimitedMaxTokens: [],
  cancelStopsBilling: false,
  keepsState: false,
  keyVariable: 'DEEPSEEK_API_KEY',
  catches: [
    'Prices double in peak hours (UTC windows on Chinese working days). Prices and costs here know no hours: the bundled list has those of peak hours, so that nothing is sold below cost; at other hours the provider charges half of the recorded cost.',
    'The concurrency limit shrinks with the remaining balance of the account; its 429 asks to top up but is still a rate limit.',
    'While queued it sends ": keep-alive" comments (streams) or empty lines before the JSON (plain answers): a plain body may start with blank lines and the 200 is sent before the outcome is known.',
    'It closes the connection when inference has not begun after 10 minutes.',
    'In a stream usage rides on the last content chunk, with choices not empty, whether asked or not; there is no chunk of usage alone.',
    'Every error has code "invalid_request_error", also 401 and 402: class by status.',
    'finish_reason insufficient_system_resource means it broke off for lack of capacity in a 200.',
    'Thinking turns with tool calls must be sent back with reasoning_content, otherwise 400.',
    '/v1/completions lives under /beta and serves non-thinking only.',
    'Rejects role developer and response_format json_schema (2026).',
    "user_id separates cache and scheduling of the operator's callers.",
    'Responses are stateless: store is false, previous_response_id unsupported, no [DONE].',
  ],
};
