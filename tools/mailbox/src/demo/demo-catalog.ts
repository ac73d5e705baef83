import type { Endpoint } from '@gateway/contracts/messages';
import type { ModelSpec, PricesSpec, ProviderSpec, SourceSpec } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';

/** A catalog for trying the gateway with plausible names and prices and simulated sources. */
export const DEMO_PROVIDERS: readonly { id: string; spec: ProviderSpec }[] = [
  { id: 'openai', spec: { name: 'OpenAI (simulated)', format: 'openai' } },
  { id: 'anthropic', spec: { name: 'Anthropic (simulated)', format: 'anthropic' } },
  { id: 'open-models', spec: { name: 'Open models host (simulated)', format: 'openai' } },
];

const CHAT_ENDPOINTS: Readonly<Record<string, readonly Endpoint[]>> = {
  openai: ['/v1/chat/completions', '/v1/responses'],
  anthropic: ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens'],
  'open-models': ['/v1/chat/completions'],
};

interface DemoModel {
  readonly id: string;
  readonly provider: string;
  readonly spec: Omit<ModelSpec, 'active' | 'available' | 'bytesPerToken'> & { available?: boolean };
  readonly endpoints: readonly Endpoint[];
  /** 1 uses the simulator's first listener; 2 uses both and prefers the first. */
  readonly sources: number;
}

function model(id: string, displayName: string, contextLength: number, prices?: PricesSpec, sources = 1): DemoModel {
  const publisher = id.slice(0, id.indexOf('/'));
  const provider = publisher in CHAT_ENDPOINTS ? publisher : 'open-models';
  const spec = { displayName, kind: 'chat' as const, contextLength, ...(prices && { prices }) };
  return { id, provider, spec, endpoints: CHAT_ENDPOINTS[provider] ?? [], sources };
}

/** Prices per million tokens. */
function usd(input: string, output: string, cachedInput?: string, write?: string, write1h?: string): PricesSpec {
  return {
    inputPerMillion: input,
    outputPerMillion: output,
    ...(cachedInput !== undefined && { cachedInputPerMillion: cachedInput }),
    ...(write !== undefined && { cacheWritePerMillion: write }),
    ...(write1h !== undefined && { cacheWrite1hPerMillion: write1h }),
  };
}

const SONNET_PRICES: PricesSpec = {
  ...usd('3.00', '15.00', '0.30', '3.75', '6.00'),
  tiers: [{ aboveInputTokens: 200_000, ...usd('6.00', '22.50', '0.60', '7.50', '12.00') }],
};
const EMBEDDING = model('openai/text-embedding-3-small', 'Text embedding 3 small', 8_191, usd('0.02', '0'));
const UNAVAILABLE = model('demo/unavailable', 'A model that is switched off', 32_000, usd('1.00', '2.00'));

/** The first one is for the first request. */
export const DEMO_MODELS: readonly DemoModel[] = [
  model('openai/gpt-4o-mini', 'GPT-4o mini', 128_000, usd('0.15', '0.60', '0.075'), 2),
  model('openai/gpt-4o', 'GPT-4o', 128_000, usd('2.50', '10.00', '1.25'), 2),
  model('openai/o4-mini', 'o4-mini', 200_000, usd('1.10', '4.40', '0.275')),
  model('anthropic/claude-sonnet-4.5', 'Claude Sonnet 4.5', 200_000, SONNET_PRICES, 2),
  model('anthropic/claude-haiku-4.5', 'Claude Haiku 4.5', 200_000, usd('1.00', '5.00', '0.10', '1.25', '2.00')),
  model('meta/llama-3.3-70b-instruct', 'Llama 3.3 70B Instruct', 128_000, usd('0.59', '0.79'), 2),
  model('mistral/mistral-large', 'Mistral Large', 128_000, usd('2.00', '6.00')),
  model('deepseek/deepseek-v3', 'DeepSeek V3', 64_000, usd('0.27', '1.10', '0.07')),
  model('qwen/qwen3-32b', 'Qwen3 32B', 40_960, usd('0.10', '0.30')),
  model('google/gemini-2.5-flash', 'Gemini 2.5 Flash', 1_000_000, usd('0.30', '2.50', '0.075')),
  { ...EMBEDDING, spec: { ...EMBEDDING.spec, kind: 'embedding' }, endpoints: ['/v1/embeddings'] },
  model('demo/unpriced', 'A model without a price', 32_000),
  { ...UNAVAILABLE, spec: { ...UNAVAILABLE.spec, available: false } },
];

/** Percentage of each price that the simulated providers charge, so that there is a margin. */
const COST_PERCENT = [80, 85] as const;
/** Costs of a model without a price. */
const UNPRICED_COSTS = usd('0.40', '0.80');

/** Computes a provider's prices as a percentage of the customers' prices. */
export function costsOf(prices: PricesSpec, percent: number): PricesSpec {
  const { tiers, perCall: _, effectiveFrom: __, ...rates } = prices;
  const share = <T extends object>(of: T): T =>
    Object.fromEntries(
      Object.entries(of).map(([name, usd]) => [
        name,
        typeof usd === 'string' ? formatUsd((parseUsd(usd) * BigInt(percent)) / 100n) : usd,
      ]),
    ) as T;
  return { ...share(rates), ...(tiers && { tiers: tiers.map(share) }) };
}

/** Returns a source of a demo model at one listener of the simulator; the first is preferred. */
export function demoSource(model: DemoModel, listener: 0 | 1, baseUrl: string): Omit<SourceSpec, 'weight' | 'enabled'> {
  return {
    modelId: model.id,
    providerId: model.provider,
    baseUrl,
    upstreamModel: model.id.slice(model.id.indexOf('/') + 1),
    endpoints: [...model.endpoints],
    priority: listener,
    cancelStopsBilling: model.provider === 'open-models',
    unpriced: 'forward',
    costs: model.spec.prices ? costsOf(model.spec.prices, COST_PERCENT[listener]) : UNPRICED_COSTS,
  };
}
