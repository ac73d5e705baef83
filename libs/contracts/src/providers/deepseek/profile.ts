import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, STANDARD_CLASSES } from '../compatible.js';
import { WEB_SEARCHES } from '../openai/profile.js';

export const DEEPSEEK: ProviderProfile = {
  ...DEFAULTS,
  id: 'deepseek',
  name: 'DeepSeek',
  checked: '2026-11-23',
  documentation: 'https://api-docs.deepseek.com/',
  format: 'openai',
  base: 'https://api.deepseek.com',
  endpoints: {
    '/v1/chat/completions': '/chat/completions',
    '/v1/completions': '/beta/completions',
    '/v1/responses': '/responses',
  },
  betas: [],
  pricing: {
    classes: STANDARD_CLASSES,
    tools: [{ unit: 'web_search', types: ['web_search'], fields: [], ...WEB_SEARCHES, usesMax: 10, boundedBy: null }],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: 400, code: null, text: 'Model Not Exist|The supported API model names are', class: 'model' },
    { status: 400, code: null, text: 'maximum context length is', class: 'body' },
    { status: 400, code: null, text: 'Failed to deserialize the JSON body', class: 'body' },
  ],
  keepsState: false,
  keyVariable: 'DEEPSEEK_API_KEY',
  catches: [
    'Prices double in peak hours (UTC windows on Chinese working days). Prices and costs here do not depend on the time. The bundled list has the peak prices, so that nothing is sold below cost. At other times the provider charges half of the recorded cost.',
    'The concurrency limit falls with the remaining balance of the account. Its 429 asks for a top-up but is a rate limit.',
    'While a request is queued, it sends ": keep-alive" comments (streams) or empty lines before the JSON (plain responses). A plain body may start with blank lines, and the 200 is sent before the outcome is known.',
    'It closes the connection if inference has not begun after 10 minutes.',
    'In a stream, usage is in the last content chunk, whose choices are not empty, whether requested or not. There is no chunk with only usage.',
    'Every error has code "invalid_request_error", also 401 and 402. Classify by status.',
    'finish_reason insufficient_system_resource in a 200 means that it stopped for lack of capacity.',
    'Thinking turns with tool calls must be sent back with reasoning_content, otherwise 400.',
    '/v1/completions is under /beta and serves non-thinking only.',
    'It rejects role developer and response_format json_schema (2026).',
    "user_id separates cache and scheduling of the operator's users.",
    'Responses are stateless: store is false, previous_response_id is not supported, and there is no [DONE].',
  ],
};
