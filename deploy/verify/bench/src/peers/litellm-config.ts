import { PROVIDER_MODELS } from './peer.js';

/** Returns the configuration of LiteLLM's proxy, without a key or database. */
export function litellmConfig(providerUrl: string): string {
  const models = [...new Set(Object.values(PROVIDER_MODELS))].map((model) => [
    `  - model_name: ${model}`,
    '    litellm_params:',
    `      model: openai/${model}`,
    `      api_base: ${providerUrl}/v1`,
    '      api_key: none',
  ]);
  return ['model_list:', ...models.flat(), 'litellm_settings:', '  telemetry: false', '  num_retries: 0', ''].join(
    '\n',
  );
}
