// Excerpts of public lists in their published form, with models that have unusual entries.

/** Format of models.dev's `api.json`. */
export const MODELS_DEV = {
  openai: {
    id: 'openai',
    name: 'OpenAI',
    models: {
      'gpt-5.5': {
        id: 'gpt-5.5',
        name: 'GPT-5.5',
        cost: {
          input: 5,
          output: 30,
          cache_read: 0.5,
          tiers: [{ input: 10, output: 45, cache_read: 1, tier: { type: 'context', size: 272000 } }],
          context_over_200k: { input: 10, output: 45, cache_read: 1 },
        },
        limit: { context: 1050000, output: 128000 },
        experimental: {
          modes: {
            fast: {
              cost: { input: 12.5, output: 75, cache_read: 1.25 },
              provider: { body: { service_tier: 'priority' } },
            },
            pro: { provider: { body: { reasoning: { mode: 'pro' } } } },
          },
        },
      },
      unpriced: { id: 'unpriced', limit: { context: 1, output: 1 } },
      odd: { cost: { input: 'a lot', output: 1 } },
    },
  },
  anthropic: {
    id: 'anthropic',
    models: {
      'claude-opus-5-5': {
        cost: { input: 4, output: 20, cache_read: 0.2, cache_write: 5 },
        experimental: {
          modes: {
            fast: {
              cost: { input: 8, output: 40, cache_read: 0.4, cache_write: 10 },
              provider: { body: { speed: 'fast' }, headers: { 'anthropic-beta': 'fast-mode-2026-02-01' } },
            },
          },
        },
      },
    },
  },
  google: {
    id: 'google',
    models: {
      'gemini-2.5-flash': { cost: { input: 0.3, output: 2.5, cache_read: 0.03, input_audio: 1 } },
      'old-form': { cost: { input: 1.25, output: 10, context_over_200k: { input: 2.5, output: 15 } } },
    },
  },
  openrouter: {
    models: {
      'acme/small-1': {
        name: 'Small 1',
        last_updated: '2026-10-30',
        limit: { context: 128_000, output: 8_192 },
        modalities: { input: ['text'], output: ['text'] },
        cost: { input: 0.2, output: 0.8, cache_read: 0.02 },
      },
      'anthropic/claude-opus-5.5': {
        name: 'Claude Opus 5.5',
        cost: { input: 4, output: 20, cache_read: 0.2, cache_write: 5 },
      },
      'acme/painter': { modalities: { output: ['image'] }, cost: { input: 1, output: 1 } },
      'acme/free:free': { name: 'Free', last_updated: 'soon', cost: { input: 0, output: 0 } },
    },
  },
  'amazon-bedrock': {
    models: {
      'us.anthropic.claude-opus-5-5-v1:0': { cost: { input: 4.4, output: 22, cache_read: 0.22, cache_write: 5.5 } },
      'openai.gpt-oss-120b-1:0': { cost: { input: 0.15, output: 0.6 } },
    },
  },
  'google-vertex-anthropic': { models: { 'claude-opus-5-5@default': { cost: { input: 4, output: 20 } } } },
  azure: {
    models: {
      'gpt-6-sol': { cost: { input: 2, output: 10 }, limit: { context: 1_050_000, output: 128_000 } },
      'claude-opus-5-5': { cost: { input: 4, output: 20 } },
    },
  },
  'google-vertex': { models: { 'gemini-3.5-flash': { cost: { input: 1.5, output: 9 } } } },
};

/** Format of LiteLLM's `model_prices_and_context_window.json`. */
export const LITELLM = {
  sample_spec: { litellm_provider: 'openai', input_cost_per_token: 1, output_cost_per_token: 1, mode: 'prose' },
  fallback_generalizations: { rules: [] },
  'gpt-5.4-mini': {
    litellm_provider: 'openai',
    mode: 'chat',
    cache_read_input_token_cost: 7.5e-8,
    cache_read_input_token_cost_flex: 3.75e-8,
    cache_read_input_token_cost_priority: 1.5e-7,
    input_cost_per_token: 7.5e-7,
    input_cost_per_token_batches: 3.75e-7,
    input_cost_per_token_flex: 3.75e-7,
    input_cost_per_token_priority: 1.5e-6,
    output_cost_per_token: 4.5e-6,
    output_cost_per_token_flex: 2.25e-6,
    output_cost_per_token_priority: 9e-6,
  },
  'gpt-4o-audio-preview': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_audio_token: 4e-5,
    input_cost_per_token: 2.5e-6,
    output_cost_per_audio_token: 8e-5,
    output_cost_per_token: 1e-5,
  },
  'claude-sonnet-4-5': {
    litellm_provider: 'anthropic',
    mode: 'chat',
    cache_creation_input_token_cost: 3.75e-6,
    cache_creation_input_token_cost_above_1hr: 6e-6,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
    cache_creation_input_token_cost_above_200k_tokens: 7.5e-6,
    cache_read_input_token_cost: 3e-7,
    cache_read_input_token_cost_above_200k_tokens: 6e-7,
    input_cost_per_token: 3e-6,
    input_cost_per_token_above_200k_tokens: 6e-6,
    output_cost_per_token: 1.5e-5,
    output_cost_per_token_above_200k_tokens: 2.25e-5,
  },
  // Without the prefix `gemini/` this is the model of Vertex AI.
  'gemini-3.5-flash': {
    litellm_provider: 'vertex_ai-language-models',
    input_cost_per_token: 1.5e-6,
    output_cost_per_token: 9e-6,
  },
  'azure/gpt-4.1-mini-2025-04-14': {
    litellm_provider: 'azure',
    cache_read_input_token_cost: 1e-7,
    input_cost_per_token: 4e-7,
    output_cost_per_token: 1.6e-6,
  },
  'moonshotai.kimi-k2.5': {
    litellm_provider: 'bedrock_converse',
    input_cost_per_token: 7.2e-7,
    output_cost_per_token: 3.6e-6,
  },
  'bedrock/us-west-2/moonshotai.kimi-k2.5': {
    litellm_provider: 'bedrock',
    input_cost_per_token: 6e-7,
    output_cost_per_token: 3e-6,
  },
  'fireworks_ai/accounts/fireworks/models/qwen3p7-plus': {
    litellm_provider: 'fireworks_ai',
    cache_read_input_token_cost: 8e-8,
    input_cost_per_token: 4e-7,
    output_cost_per_token: 1.6e-6,
  },
  'gpt-5-search': {
    litellm_provider: 'openai',
    mode: 'responses',
    max_input_tokens: '400000',
    max_output_tokens: 128000,
    input_cost_per_token: 1.25e-6,
    output_cost_per_token: 1e-5,
    search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_medium: 0.0125 },
    file_search_cost_per_1k_calls: 2.5,
  },
  'perplexity/sonar': {
    litellm_provider: 'perplexity',
    mode: 'chat',
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    search_context_cost_per_query: {
      search_context_size_low: 0.005,
      search_context_size_medium: 0.008,
      search_context_size_high: 0.012,
    },
  },
  'azure/us/gpt-4.1-mini-2025-04-14': { litellm_provider: 'azure', input_cost_per_token: 1, output_cost_per_token: 1 },
  'azure_ai/claude-opus-5-5': { litellm_provider: 'azure_ai', input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 },
  'vertex_ai/claude-opus-5-5': {
    litellm_provider: 'vertex_ai-anthropic_models',
    input_cost_per_token: 4e-6,
    output_cost_per_token: 2e-5,
  },
  'dall-e-9': { litellm_provider: 'openai', mode: 'image_generation', input_cost_per_token: 1 },
  'text-embedding-3-small': { litellm_provider: 'openai', mode: 'embedding', input_cost_per_token: 2e-8 },
  'by-range': {
    litellm_provider: 'openai',
    mode: 'chat',
    tiered_pricing: [
      { range: [0, 100000], input_cost_per_token: 1e-7, output_cost_per_token: 5e-7 },
      { range: [100000, 1000000], input_cost_per_token: 5e-7, output_cost_per_token: 2.5e-6 },
    ],
  },
  free: { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 0, output_cost_per_token: 0 },
};
