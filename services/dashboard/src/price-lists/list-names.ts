/** How the lists call the provider of a profile. */
interface ListNames {
  /** The profile under which the bundled list has its models; absent: its own. */
  readonly bundled?: string;
  /** Providers of models.dev, tried in this order. */
  readonly modelsDev: readonly string[];
  /** Beginnings of LiteLLM's keys, tried in this order; `{name}` is a parameter of the source. */
  readonly litellmPrefixes: readonly string[];
  /** What `litellm_provider` begins with in an entry that is meant. */
  readonly litellmProviders: readonly string[];
}

const named = (modelsDev: string, prefix: string, provider = prefix.replace('/', '')): ListNames => ({
  modelsDev: [modelsDev],
  litellmPrefixes: [prefix],
  litellmProviders: [provider],
});
const AZURE: ListNames = { ...named('azure', 'azure/'), bundled: 'azure-openai' };
const BEDROCK: ListNames = {
  modelsDev: ['amazon-bedrock'],
  litellmPrefixes: ['bedrock/{region}/', ''],
  litellmProviders: ['bedrock'],
};

const LIST_NAMES: Readonly<Record<string, ListNames>> = {
  openai: named('openai', '', 'openai'),
  anthropic: named('anthropic', '', 'anthropic'),
  gemini: named('google', 'gemini/'),
  vertex: { modelsDev: ['google-vertex'], litellmPrefixes: ['vertex_ai/', ''], litellmProviders: ['vertex_ai'] },
  'vertex-anthropic': {
    modelsDev: ['google-vertex-anthropic', 'google-vertex'],
    litellmPrefixes: ['vertex_ai/'],
    litellmProviders: ['vertex_ai'],
  },
  'azure-openai': AZURE,
  'azure-deployments': AZURE,
  foundry: AZURE,
  bedrock: BEDROCK,
  'bedrock-mantle': { ...BEDROCK, bundled: 'bedrock' },
  'bedrock-anthropic': BEDROCK,
  openrouter: named('openrouter', 'openrouter/'),
  xai: named('xai', 'xai/'),
  deepseek: named('deepseek', 'deepseek/'),
  'deepseek-anthropic': { ...named('deepseek', 'deepseek/'), bundled: 'deepseek' },
  mistral: named('mistral', 'mistral/'),
  groq: named('groq', 'groq/'),
  together: named('togetherai', 'together_ai/'),
  fireworks: named('fireworks-ai', 'fireworks_ai/'),
  moonshot: named('moonshotai', 'moonshot/'),
  'moonshot-anthropic': { ...named('moonshotai', 'moonshot/'), bundled: 'moonshot' },
  perplexity: named('perplexity', 'perplexity/'),
  cohere: named('cohere', '', 'cohere'),
};

/** Of a profile that no list names: none but its own name in the bundled list. */
export function listNamesOf(profile: string): ListNames & { bundled: string } {
  const none = { modelsDev: [], litellmPrefixes: [], litellmProviders: [] };
  const found = Object.hasOwn(LIST_NAMES, profile) ? LIST_NAMES[profile] : undefined;
  return { bundled: profile, ...none, ...found };
}

/**
 * The names that a list may have for a model: its own, and without the publisher that an endpoint
 * of Vertex AI wants before it.
 */
export function modelNamesOf(profile: string, upstreamModel: string): string[] {
  const bare = upstreamModel.slice(upstreamModel.indexOf('/') + 1);
  return profile === 'vertex' ? [...new Set([upstreamModel, bare])] : [upstreamModel];
}
