import type { ProviderProfile } from '../../operator/index.js';
import { BEDROCK } from '../bedrock/profile.js';

export const BEDROCK_MANTLE: ProviderProfile = {
  ...BEDROCK,
  id: 'bedrock-mantle',
  name: 'Amazon Bedrock (bedrock-mantle, OpenAI-compatible paths)',
  checked: '2026-11-24',
  base: 'https://bedrock-mantle.{region}.api.aws',
  auth: [
    { type: 'bearer' },
    {
      type: 'sigv4',
      service: 'bedrock-mantle',
      region: '{region}',
    },
  ],
  modelPaths: [
    {
      models: ['openai.gpt-5*', 'openai.gpt-6*', 'openai.gpt-daybreak*', 'google.gemma-4*', 'xai.grok-*'],
      endpoints: { '/v1/chat/completions': '/openai/v1/chat/completions', '/v1/responses': '/openai/v1/responses' },
    },
  ],
  catches: [
    'The path prefix depends on the model: /openai/v1 for GPT-5 and later, Gemma 4 and Grok, /v1 for the others. A wrong one returns 400 "isn\'t supported on this route". A model that is missing here needs `paths` in its source.',
    'Few models have the Responses API (under /v1 only openai.gpt-oss-20b and -120b). A source should list the endpoints that its model has.',
    "IDs are bare (openai.gpt-oss-20b), without the version that bedrock-runtime requires. Each host rejects the other's IDs.",
    '`openai.gpt-5.6-*`, `google.gemma-4-*` and `xai.grok-4.3` refuse max_tokens and require max_completion_tokens. Rename it with `body` in such a source.',
    ...BEDROCK.catches.slice(2),
  ],
};
