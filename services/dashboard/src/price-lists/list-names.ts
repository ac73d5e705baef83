import type { PriceQuery } from './price-list.js';

/** Names of a profile's provider in the lists. */
interface ListNames {
  /** The profile whose models the bundled list has; absent: this profile. */
  readonly bundled?: string;
  /** Providers of models.dev, in the order of lookup. */
  readonly modelsDev: readonly string[];
  /** Prefixes of LiteLLM's keys, in the order of lookup; `{name}` is a parameter of the source. */
  readonly litellmPrefixes: readonly string[];
  /** Prefixes of `litellm_provider` in matching entries. */
  readonly litellmProviders: readonly string[];
  /** Pattern of the models that this profile serves; absent: all of the provider. */
  readonly serves?: RegExp;
  /** Prefix that the provider expects on model names that have no publisher in a list. */
  readonly upstreamPrefix?: string;
  /** Publisher of models whose name has none; absent: the profile's ID. */
  readonly publisher?: string;
}

const named = (modelsDev: string, prefix: string, provider = prefix.replace('/', '')): ListNames => ({
  modelsDev: [modelsDev],
  litellmPrefixes: [prefix],
  litellmProviders: [provider],
});
const AZURE: ListNames = { ...named('azure', 'azure/'), bundled: 'azure-openai', publisher: 'openai' };
const CLAUDE = /(^|[./])claude/;
const NOT_CLAUDE = /^(?!.*(^|[./])claude)/;
const BEDROCK: ListNames = {
  modelsDev: ['amazon-bedrock'],
  litellmPrefixes: ['bedrock/{region}/', ''],
  litellmProviders: ['bedrock'],
};

const LIST_NAMES: Readonly<Record<string, ListNames>> = {
  openai: named('openai', '', 'openai'),
  anthropic: named('anthropic', '', 'anthropic'),
  gemini: { ...named('google', 'gemini/'), publisher: 'google' },
  vertex: {
    modelsDev: ['google-vertex'],
    litellmPrefixes: ['vertex_ai/', ''],
    litellmProviders: ['vertex_ai'],
    serves: NOT_CLAUDE,
    upstreamPrefix: 'google/',
    publisher: 'google',
  },
  'vertex-anthropic': {
    modelsDev: ['google-vertex-anthropic', 'google-vertex'],
    litellmPrefixes: ['vertex_ai/'],
    litellmProviders: ['vertex_ai'],
    serves: CLAUDE,
    publisher: 'anthropic',
  },
  'azure-openai': AZURE,
  'azure-deployments': AZURE,
  foundry: {
    ...AZURE,
    litellmPrefixes: ['azure_ai/', 'azure/'],
    litellmProviders: ['azure_ai', 'azure'],
    serves: NOT_CLAUDE,
  },
  'foundry-anthropic': {
    modelsDev: ['azure', 'azure-cognitive-services'],
    litellmPrefixes: ['azure_ai/'],
    litellmProviders: ['azure_ai'],
    serves: CLAUDE,
    publisher: 'anthropic',
  },
  bedrock: BEDROCK,
  'bedrock-mantle': { ...BEDROCK, bundled: 'bedrock' },
  'bedrock-anthropic': { ...BEDROCK, serves: CLAUDE, publisher: 'anthropic' },
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

/** Returns the names of a profile. An unlisted profile has only its own ID. */
export function findListNames(profile: string): ListNames & { bundled: string } {
  const none = { modelsDev: [], litellmPrefixes: [], litellmProviders: [] };
  const found = Object.hasOwn(LIST_NAMES, profile) ? LIST_NAMES[profile] : undefined;
  return { bundled: profile, ...none, ...found };
}

/**
 * Returns the names that a list may have for a model: its own, its name without the publisher that
 * Vertex AI endpoints expect, and its catalog name if operators name deployments.
 */
export function listModelNames({ profile, upstreamModel, modelId }: Omit<PriceQuery, 'parameters'>): string[] {
  const bare = (name: string): string => name.slice(name.indexOf('/') + 1);
  const names = [upstreamModel];
  if (profile === 'vertex') names.push(bare(upstreamModel));
  if (namesDeployments(profile) && modelId !== undefined) names.push(bare(modelId));
  return [...new Set(names)];
}

/** Returns the provider's name for a model of a list. */
export function upstreamNameOf(profile: string, model: string): string {
  const { upstreamPrefix = '' } = findListNames(profile);
  return model.includes('/') ? model : upstreamPrefix + model;
}

/** Returns whether operators choose the model names at this provider. */
export function namesDeployments(profile: string): boolean {
  return /^(azure|foundry)/.test(profile);
}

/** Prefixes of a model's name at Bedrock: inference region and publisher. */
const BEDROCK_PLACE = /^(us-gov|us|eu|apac|au|ca|jp|global)\./;
const BEDROCK_MAKER = /^([a-z0-9-]+)\./;
/** Suffixes of a model's name: its version at Bedrock, or the date of a snapshot at Vertex AI. */
const VERSION = /(-v\d+(:\d+)?|@[\w-]+)$/;

/**
 * Returns the catalog ID of a model at a provider. Uses the ID of the bundled list if it has the
 * same model of the same publisher, so that the sources can fail over to each other.
 */
export function toCatalogId(profile: string, model: string, known: readonly string[]): string {
  const { publisher = profile } = findListNames(profile);
  const isBedrock = profile.startsWith('bedrock');
  const placed = isBedrock ? model.replace(BEDROCK_PLACE, '') : model;
  const maker = isBedrock ? BEDROCK_MAKER.exec(placed)?.[1] : undefined;
  const named = maker === undefined ? placed : placed.slice(maker.length + 1);
  const id = named.includes('/') ? named.replace(/^[^A-Za-z0-9]+/, '') : `${maker ?? publisher}/${named}`;
  const plainId = id.replace(VERSION, '');
  const same = known.find((one) => comparable(one) === comparable(plainId));
  return same ?? (isBedrock ? plainId : id);
}

function comparable(id: string): string {
  return id.toLowerCase().replaceAll('.', '-');
}
