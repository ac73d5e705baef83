import type { ProviderProfile } from '../../operator/index.js';
import { DEFAULTS, toSamePaths } from '../compatible.js';
import { AZURE_CATCHES, AZURE_ERRORS, AZURE_PRICING } from '../azure.js';

export const AZURE_OPENAI: ProviderProfile = {
  ...DEFAULTS,
  id: 'azure-openai',
  name: 'Azure OpenAI (v1 API)',
  checked: '2026-11-23',
  documentation: 'https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle',
  format: 'openai',
  base: 'https://{resource}.openai.azure.com/openai',
  parameters: {
    resource:
      'name of the Azure OpenAI or Foundry resource; https://{resource}.services.ai.azure.com and .cognitiveservices.azure.com serve the same paths',
  },
  endpoints: toSamePaths('/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'),
  auth: [
    { type: 'header', header: 'api-key' },
    { type: 'entra', scope: 'https://ai.azure.com/.default' },
    { type: 'entra', scope: 'https://cognitiveservices.azure.com/.default' },
    { type: 'bearer' },
  ],
  betas: [],
  pricing: AZURE_PRICING,
  errors: AZURE_ERRORS,
  keyVariable: 'AZURE_OPENAI_API_KEY',
  catches: [
    ...AZURE_CATCHES,
    'Rate limits count the prompt estimate plus max_tokens times best_of before the call, also for failed calls.',
    'x-ratelimit-* may be -1 or 0 on Responses, and remaining-tokens may be negative in successful responses. Do not rely on them.',
    'Entra needs the role Cognitive Services OpenAI User (OpenAI models only) or Cognitive Services User. Owner and Contributor do not permit inference.',
    "Use the response header apim-request-id to find a request in Azure's logs. They do not contain x-request-id.",
  ],
};
