import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS } from '../compatible.js';
import { AZURE_CATCHES, AZURE_ERRORS, AZURE_PRICING } from '../azure.js';

export const AZURE_DEPLOYMENTS: ProviderProfile = {
  ...DEFAULTS,
  id: 'azure-deployments',
  name: 'Azure OpenAI (deployment URLs with api-version)',
  checked: '2026-11-23',
  documentation: 'https://learn.microsoft.com/en-us/azure/foundry/openai/reference',
  format: 'openai',
  base: 'https://{resource}.openai.azure.com/openai',
  parameters: {
    resource: 'name of the Azure OpenAI or Foundry resource',
    apiVersion: 'dated API version, for example 2024-10-21 (GA) or 2025-04-01-preview',
  },
  endpoints: {
    '/v1/chat/completions': '/deployments/{model}/chat/completions?api-version={apiVersion}',
    '/v1/completions': '/deployments/{model}/completions?api-version={apiVersion}',
    '/v1/embeddings': '/deployments/{model}/embeddings?api-version={apiVersion}',
    '/v1/responses': '/responses?api-version={apiVersion}',
  },
  auth: [
    { type: 'header', header: 'api-key' },
    { type: 'entra', scope: 'https://cognitiveservices.azure.com/.default' },
    { type: 'entra', scope: 'https://ai.azure.com/.default' },
  ],
  betas: [],
  pricing: AZURE_PRICING,
  errors: [...AZURE_ERRORS, { status: 429, code: null, text: 'have exceeded (call|token) rate limit', class: 'quota' }],
  keyVariable: 'AZURE_OPENAI_API_KEY',
  catches: [
    ...AZURE_CATCHES,
    "The deployment is in the path for chat, completions and embeddings (the body's model is then ignored or optional), but in the body for /openai/responses.",
    'The api-version decides which fields are refused. Responses exist from 2025-03-01-preview and priority service_tier from 2025-10-01-preview. max_completion_tokens needs a version of late 2024 or later (else 400 Unrecognized request argument supplied).',
    'A resource key sent as Authorization Bearer is refused with {statusCode:401, message: Access token is missing, invalid, audience is incorrect}. Use api-key.',
    'An unknown or retired api-version returns 404 Resource not found, like a wrong path.',
  ],
};
