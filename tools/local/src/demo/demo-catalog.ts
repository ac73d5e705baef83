import type { Endpoint } from '@gateway/contracts/messages';
import type { ModelSpec, PricesSpec, ProviderSpec, SourceSpec } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';

/** A catalog for trying the gateway with plausible names and prices and simulated sources. */
export const DEMO_PROVIDERS: readonly { id: string; spec: ProviderSpec }[] = [
  { id: 'openai', spec: { name: 'OpenAI (simulated)', format: 'openai' } },
  { id: 'anthropic', spec: { name: 'Anthropic (simulated)', format: 'anthropic' } },
  { id: 'open-models', spec: { name: 'Open models host (simulated)', format: 'openai' } },
];

type ModelInput = Omit<ModelSpec, 'active' | 'available' | 'bytesPerToken'> & { available?: boolean };
interface DemoModel {
  readonly id: string;
  readonly provider: string;
  readonly spec: ModelInput;
  readonly endpoints: readonly Endpoint[];
  /** 1 uses the simulator's first listener; 2 uses both and prefers the first. */
  readonly sources: 1 | 2;
}

const CHAT: readonly Endpoint[] = ['/v1/chat/completions'];
const CHAT_AND_RESPONSES: readonly Endpoint[] = ['/v1/chat/completions', '/v1/responses'];
const MESSAGES: readonly Endpoint[] = ['/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens'];

const chat = (displayName: string, contextLength: number, prices: PricesSpec | null): ModelInput => ({
  displayName,
  kind: 'chat',
  contextLength,
  ...(prices === null ? {} : { prices }),
});
const usd = (input: string, output: string, cachedInput?: string, cacheWrite?: string): PricesSpec => ({
  inputPerMillion: input,
  outputPerMillion: output,
  ...(cachedInput === undefined ? {} : { cachedInputPerMillion: cachedInput }),
  ...(cacheWrite === undefined ? {} : { cacheWritePerMillion: cacheWrite }),
});

export const DEMO_MODELS: readonly DemoModel[] = [
  {
    id: 'openai/gpt-4o',
    provider: 'openai',
    spec: chat('GPT-4o', 128_000, usd('2.50', '10.00', '1.25')),
    endpoints: CHAT_AND_RESPONSES,
    sources: 2,
  },
  {
    id: 'openai/gpt-4o-mini',
    provider: 'openai',
    spec: chat('GPT-4o mini', 128_000, usd('0.15', '0.60', '0.075')),
    endpoints: CHAT_AND_RESPONSES,
    sources: 2,
  },
  {
    id: 'openai/o4-mini',
    provider: 'openai',
    spec: chat('o4-mini', 200_000, usd('1.10', '4.40', '0.275')),
    endpoints: CHAT_AND_RESPONSES,
    sources: 1,
  },
  {
    id: 'anthropic/claude-sonnet-4.5',
    provider: 'anthropic',
    spec: chat('Claude Sonnet 4.5', 200_000, {
      ...usd('3.00', '15.00', '0.30', '3.75'),
      cacheWrite1hPerMillion: '6.00',
      tiers: [{ aboveInputTokens: 200_000, ...usd('6.00', '22.50', '0.60', '7.50'), cacheWrite1hPerMillion: '12.00' }],
    }),
    endpoints: MESSAGES,
    sources: 2,
  },
  {
    id: 'anthropic/claude-haiku-4.5',
    provider: 'anthropic',
    spec: chat('Claude Haiku 4.5', 200_000, {
      ...usd('1.00', '5.00', '0.10', '1.25'),
      cacheWrite1hPerMillion: '2.00',
    }),
    endpoints: MESSAGES,
    sources: 1,
  },
  {
    id: 'meta/llama-3.3-70b-instruct',
    provider: 'open-models',
    spec: chat('Llama 3.3 70B Instruct', 128_000, usd('0.59', '0.79')),
    endpoints: CHAT,
    sources: 2,
  },
  {
    id: 'mistral/mistral-large',
    provider: 'open-models',
    spec: chat('Mistral Large', 128_000, usd('2.00', '6.00')),
    endpoints: CHAT,
    sources: 1,
  },
  {
    id: 'deepseek/deepseek-v3',
    provider: 'open-models',
    spec: chat('DeepSeek V3', 64_000, usd('0.27', '1.10', '0.07')),
    endpoints: CHAT,
    sources: 1,
  },
  {
    id: 'qwen/qwen3-32b',
    provider: 'open-models',
    spec: chat('Qwen3 32B', 40_960, usd('0.10', '0.30')),
    endpoints: CHAT,
    sources: 1,
  },
  {
    id: 'google/gemini-2.5-flash',
    provider: 'open-models',
    spec: chat('Gemini 2.5 Flash', 1_000_000, usd('0.30', '2.50', '0.075')),
    endpoints: CHAT,
    sources: 1,
  },
  {
    id: 'openai/text-embedding-3-small',
    provider: 'openai',
    spec: { displayName: 'Text embedding 3 small', kind: 'embedding', contextLength: 8_191, prices: usd('0.02', '0') },
    endpoints: ['/v1/embeddings'],
    sources: 1,
  },
  {
    id: 'demo/unpriced',
    provider: 'open-models',
    spec: chat('A model without a price', 32_000, null),
    endpoints: CHAT,
    sources: 1,
  },
  {
    id: 'demo/unavailable',
    provider: 'open-models',
    spec: { ...chat('A model that is switched off', 32_000, usd('1.00', '2.00')), available: false },
    endpoints: CHAT,
    sources: 1,
  },
];

/** Percentage of each price that the simulated providers charge, so that there is a margin. */
const COST_PERCENT = [80, 85] as const;

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

/** Costs of a model without a price. */
const UNPRICED_COSTS = usd('0.40', '0.80');

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
