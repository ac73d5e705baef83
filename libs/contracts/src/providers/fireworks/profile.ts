import type { ProviderProfile } from '../../operator/index.js';
import { CLIENT_TOOLS, DEFAULTS, toSamePaths } from '../compatible.js';

export const FIREWORKS: ProviderProfile = {
  ...DEFAULTS,
  id: 'fireworks',
  name: 'Fireworks AI',
  checked: '2026-11-23',
  documentation: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
  format: 'openai',
  base: 'https://api.fireworks.ai/inference',
  endpoints: toSamePaths('/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses', '/v1/messages'),
  auth: [{ type: 'bearer' }, { type: 'header', header: 'x-api-key' }],
  forwardHeaders: ['x-session-affinity'],
  betas: [],
  pricing: {
    classes: [{ field: 'service_tier', asks: { priority: 'priority' }, answersAt: null, answers: {} }],
    tools: [],
    freeTools: CLIENT_TOOLS,
    unpricedFields: {},
  },
  errors: [
    { status: 401, code: 'UNAUTHORIZED', text: null, class: 'credential' },
    { status: 403, code: null, text: null, class: 'credential' },
    { status: 412, code: 'PRECONDITION_FAILED', text: 'suspended', class: 'funds' },
    { status: 404, code: 'NOT_FOUND', text: null, class: 'model' },
    { status: 400, code: null, text: 'Extra inputs are not permitted', class: 'body' },
  ],
  keyVariable: 'FIREWORKS_API_KEY',
  catches: [
    'According to the documentation, streams have usage in the last chunk without a request. A user saw streams without it in June 2026 unless include_usage was set. Always set it, and use the headers fireworks-prompt-tokens and fireworks-cached-prompt-tokens as the second source.',
    'Neither responses nor headers report the served class, so an accepted priority request must be billed as priority.',
    "412 means that the operator's account is suspended (spending limit or unpaid invoice). It is not a precondition of the client.",
    '429 has type and code invalid_request_error, so only the status distinguishes it from an invalid body. x-ratelimit-over-limit was no in those responses.',
    "A prompt with max_tokens beyond the context is not refused. max_tokens is lowered (context_length_exceeded_behavior error has OpenAI's behaviour).",
    'Unknown fields are refused with 400 (Extra inputs are not permitted).',
    '404 is the same for an unknown model and for one that is not deployed or not allowed. The list may contain models that the endpoint refuses.',
    'Responses are stored unless store is false.',
    'Messages: server tools are not run, and anthropic-version is ignored. Thinking of type adaptive, inference_geo and cache_control on tools are not supported. Pages differ on service_tier (the newer one supports priority).',
    'Messages are available at api.fireworks.ai/inference only, not on direct routes of deployments.',
    'The cache discount differs by model (50% by default). Cache hits need x-session-affinity or prompt_cache_key to reach the same replica.',
    'The token limits fall during traffic bursts (from 216000 to 36000 generated tokens per minute was measured).',
  ],
};
