import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, STANDARD_PRICING, toSamePaths } from '../compatible.js';
import { AZURE_ERRORS } from '../azure.js';

export const FOUNDRY: ProviderProfile = {
  ...DEFAULTS,
  id: 'foundry',
  name: 'Microsoft Foundry Models (OpenAI format: Grok, DeepSeek, Mistral, Kimi, ...)',
  checked: '2026-11-23',
  documentation: 'https://learn.microsoft.com/en-us/azure/foundry/foundry-models/how-to/generate-responses',
  format: 'openai',
  base: 'https://{resource}.services.ai.azure.com/openai',
  parameters: { resource: 'name of the Foundry resource' },
  endpoints: toSamePaths('/v1/chat/completions', '/v1/embeddings', '/v1/responses'),
  auth: [
    { type: 'header', header: 'api-key' },
    { type: 'entra', scope: 'https://ai.azure.com/.default' },
    { type: 'entra', scope: 'https://cognitiveservices.azure.com/.default' },
    { type: 'bearer' },
  ],
  betas: [],
  refuses: ['prompt_cache_key', 'prompt_cache_retention'],
  pricing: STANDARD_PRICING,
  errors: [
    ...AZURE_ERRORS,
    { status: null, code: 'unknown_model', text: null, class: 'model' },
    { status: 422, code: 'Invalid input', text: null, class: 'body' },
    { status: 400, code: 'unrecognized_request_argument', text: null, class: 'body' },
    { status: 410, code: null, text: null, class: 'model' },
  ],
  keyVariable: 'AZURE_API_KEY',
  catches: [
    'Grok 4.x reports reasoning in total_tokens and not in completion_tokens (measured grok-4.3 2026-10, grok-4.6 2026-09), but Microsoft’s Grok 4.7 page says that completion_tokens includes it. Check whether prompt+completion equals total.',
    'On the one measured day, Azure billed only completion_tokens of grok-4.3, not the reasoning (443 of 8760 output tokens). Check the invoice before charging reasoning.',
    'Reasoning differs by model family. DeepSeek counts it inside completion_tokens and streams usage.reasoning_tokens 0.',
    'Grok, DeepSeek and similar models send usage in a stream without a request, and OpenAI models on the same resource only on request. Ministral-3B and some Mistral deployments refuse stream_options (400 or 422 extra_forbidden).',
    'DeepSeek refuses thinking, extra_body, prompt_cache_key and prompt_cache_retention. grok-4.6 refuses frequency_penalty, presence_penalty, stop and n. Mistral refuses reasoning_effort and max_completion_tokens. MAI-Thinking-1 refuses max_tokens.',
    'Claude deployments return 404 api_not_supported here. Use foundry-anthropic.',
    'DeepSeek first had no Responses API and now refuses reasoning.effort there.',
    'Partner models bought through the Marketplace (FW-*) return 500 invalid_model_endpoint_authentication if the subscription cannot buy. The response has falling x-ratelimit headers.',
    'A deployment may have the state Succeeded and still return unknown_model.',
    'grok-4.3 omits service_tier in plain responses, so absence does not mean standard.',
    'xAI live search fields do not apply on Azure.',
    'The older route /models/chat/completions?api-version=2024-05-01-preview returns content filter errors flat ({status,code,message,param,type}) without an error object.',
    'Entra needs Cognitive Services User. Cognitive Services OpenAI User permits OpenAI models only.',
  ],
};
