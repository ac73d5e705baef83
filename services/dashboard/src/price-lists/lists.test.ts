import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { LITELLM, MODELS_DEV } from '../../test/price-lists.js';
import { bundledList, bundledPrices, findLaterCosts, listedModelsOf, resolveList } from './bundled-list.js';
import { completeCosts } from './complete-costs.js';
import { toCatalogId } from './list-names.js';
import { planProvider } from './provider-document.js';
import { readLitellm } from './litellm.js';
import { readModelsDev } from './models-dev.js';
import { findBelowCost, compareFigures } from './margins.js';
import { applyMarkup } from './markup.js';
import { WrongList } from './price-list.js';
import { readProviderModels } from './provider-models.js';

const BUNDLED = bundledList.parse(
  JSON.parse(readFileSync(new URL('../../lists/models.json', import.meta.url), 'utf8')),
);
const wanted = (profile: string, upstreamModel: string, parameters = {}) => ({ profile, upstreamModel, parameters });

test('the bundled list has at least fifty models, each once per provider', () => {
  const names = BUNDLED.models.map(({ provider, model }) => `${provider} ${model}`);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(BUNDLED.models.map(({ id }) => id)).size).toBeGreaterThanOrEqual(50);
  for (const { provider, id } of BUNDLED.models) {
    expect(BUNDLED.models.filter((one) => one.provider === provider && one.id === id)).toHaveLength(1);
  }
});

test('no cost of the bundled list is above its price with a markup', () => {
  for (const { costs } of BUNDLED.models) {
    const cost = { prices: costs, onMessages: true, requestable: [] };
    expect(findBelowCost(compareFigures({ ...cost, prices: applyMarkup(cost, 1n) }, cost))).toEqual([]);
  }
});

const listed = (provider: string, model: string) => {
  const found = BUNDLED.models.find((one) => one.provider === provider && one.model === model);
  if (found === undefined) throw new Error(`${provider} ${model}`);
  return found;
};
const long = (input: string, cached: string, write: string, output: string) => ({
  tiers: [
    {
      aboveInputTokens: 272_000,
      inputPerMillion: input,
      cachedInputPerMillion: cached,
      cacheWritePerMillion: write,
      outputPerMillion: output,
    },
  ],
});

test.each([
  ['openai', 'gpt-6-astra', { classes: { priority: long('40.00', '4.00', '50.00', '150.00') } }],
  ['openai', 'gpt-6-astra', { classes: { flex: { inputPerMillion: '5.00', outputPerMillion: '25.00' } } }],
  ['openai', 'gpt-6.1-sol', { classes: { priority: long('8.00', '0.40', '10.00', '30.00') } }],
  ['openai', 'gpt-6.1-terra', { classes: { flex: long('1.00', '0.05', '1.25', '3.75') } }],
  ['openai', 'gpt-5.6-luna', { cacheWritePerMillion: '0.25', ...long('0.40', '0.04', '0.50', '1.80') }],
  ['openai', 'gpt-5.6-sol', { classes: { priority: long('16.00', '1.60', '20.00', '60.00') } }],
  ['openai', 'gpt-5.5', { classes: { priority: { inputPerMillion: '12.50', outputPerMillion: '75.00' } } }],
  ['openai', 'gpt-6.2-astra', { inputPerMillion: '8.00', cachedInputPerMillion: '0.40', outputPerMillion: '40.00' }],
  ['anthropic', 'claude-opus-5-5', { classes: { fast: { cacheWrite1hPerMillion: '16.00' } } }],
  [
    'anthropic',
    'claude-fable-5-2',
    { cacheWrite1hPerMillion: '16.00', classes: { fast: { outputPerMillion: '80.00' } } },
  ],
  ['gemini', 'gemini-3.5-flash-lite', { cachedInputPerMillion: '0.03' }],
  ['vertex', 'google/gemini-3.5-flash', { audioInputPerMillion: '1.50' }],
])('the bundled list has %s %s as it was published: %j', (provider, model, costs) => {
  expect(listed(provider, model).costs).toMatchObject(costs);
});

test.each([
  ['openai', 'web_search'],
  ['openai', 'file_search'],
  ['openai', 'container'],
  ['anthropic', 'web_search'],
  ['anthropic', 'code_execution_hour'],
  ['azure-openai', 'web_search'],
  ['azure-openai', 'container'],
  ['xai', 'x_search'],
  ['perplexity', 'web_search'],
  ['moonshot', 'web_search'],
])('every chat model of %s has a price for %s', (provider, unit) => {
  const models = BUNDLED.models.filter((one) => one.provider === provider && one.kind === 'chat');
  expect(models).not.toHaveLength(0);
  for (const { model, costs } of models) {
    expect([model, costs.unitsPerThousand?.[unit]]).toEqual([model, expect.any(String)]);
  }
});

test.each([
  ['gemini', /^gemini-(?!2\.5)/, 'web_search'],
  ['vertex', /^google\//, 'web_search'],
  ['mistral', /./, 'web_search'],
  ['azure-openai', /./, 'file_search'],
])('no model of %s that fits %s has a price for the uncounted or unpublished %s', (provider, name, unit) => {
  const models = BUNDLED.models.filter((one) => one.provider === provider && name.test(one.model));
  expect(models).not.toHaveLength(0);
  for (const { model, costs, kind, note } of models) {
    expect([model, costs.unitsPerThousand?.[unit]]).toEqual([model, undefined]);
    if (kind === 'chat') expect([model, note]).toEqual([model, expect.stringMatching(/no price|No public price/)]);
  }
});

test('a class has every kind of price that the standard class has', () => {
  for (const { model, costs } of BUNDLED.models) {
    const kinds = Object.keys(costs)
      .filter((name) => /^(input|cached|cacheWrite|output)/.test(name))
      .sort();
    for (const part of [...(costs.tiers ?? []), ...Object.values(costs.classes ?? {})]) {
      const own = Object.keys(part ?? {})
        .filter((name) => kinds.includes(name))
        .sort();
      expect([model, own]).toEqual([model, kinds]);
    }
  }
});

test('promotional prices end on their last day and the next prices follow', () => {
  const flash = listed('gemini', 'gemini-3.8-flash');
  const costOn = (today: string) =>
    bundledPrices(resolveList(BUNDLED, today)).find(wanted('gemini', flash.model))?.inputPerMillion;
  expect([costOn('2026-12-31'), costOn('2027-01-01')]).toEqual(['0.75', '1.50']);
  expect(findLaterCosts(flash)).toEqual({ costs: flash.afterwards, effectiveFrom: '2027-01-01T00:00:00.000Z' });
  for (const model of resolveList(BUNDLED, '2027-01-01').models) expect(findLaterCosts(model)).toBeNull();
  for (const { validUntil, afterwards } of BUNDLED.models) {
    expect(validUntil === undefined).toBe(afterwards === undefined);
  }
});

test('a model that has ended is not offered', () => {
  const has = (today: string) => resolveList(BUNDLED, today).models.some(({ model }) => model === 'gemini-2.5-pro');
  expect([has('2026-11-30'), has('2026-12-01')]).toEqual([true, false]);
});

const planned = (models: readonly ReturnType<typeof listed>[]) =>
  planProvider({
    profile: {
      id: 'gemini',
      name: 'Gemini',
      format: 'openai',
      endpoints: { '/v1/chat/completions': '/x' },
      pricing: null,
    } as never,
    providerId: 'gemini',
    there: null,
    models: models.map((one) => ({ ...one, computed: [], unread: [], sourceName: one.model })),
    modelsThere: new Map(),
    sourcesThere: new Map(),
    parameters: {},
    baseUrl: null,
    credential: null,
    markup: 2_000n,
    enabled: true,
  });

test('a new model is planned with the prices and costs that follow a promotion', () => {
  const flash = listed('gemini', 'gemini-3.8-flash');
  const plan = planned([flash, listed('gemini', 'gemini-3.5-flash')]);
  const effectiveFrom = '2027-01-01T00:00:00.000Z';
  expect(plan.later).toMatchObject([
    { kind: 'model', id: flash.id, spec: { kind: 'chat', prices: { inputPerMillion: '1.80', effectiveFrom } } },
    { kind: 'source', spec: { modelId: flash.id, costs: { inputPerMillion: '1.50', effectiveFrom } } },
  ]);
  expect(plan.objects).toContainEqual(
    expect.objectContaining({
      id: flash.id,
      spec: expect.objectContaining({ prices: expect.objectContaining({ inputPerMillion: '0.90' }) }),
    }),
  );
});

test('the later price of a model covers all its sources in any order', () => {
  const flash = listed('gemini', 'gemini-3.8-flash');
  const other = { ...flash, model: 'other', costs: { inputPerMillion: '9', outputPerMillion: '1' } };
  const { validUntil: _until, afterwards: _after, ...steady } = other;
  const prices = { inputPerMillion: '10.80', outputPerMillion: '9.00', effectiveFrom: '2027-01-01T00:00:00.000Z' };
  for (const models of [
    [flash, steady],
    [steady, flash],
  ])
    expect(planned(models).later).toMatchObject([{ kind: 'model', spec: { prices } }, { kind: 'source' }]);
});

test('profiles of one provider share its listed models', () => {
  expect(listedModelsOf(BUNDLED, 'deepseek-anthropic')).toEqual(listedModelsOf(BUNDLED, 'deepseek'));
  expect(listedModelsOf(BUNDLED, 'vllm')).toEqual([]);
  const list = bundledPrices(BUNDLED);
  expect(list.find(wanted('azure-deployments', 'gpt-6-luna'))).toMatchObject({ inputPerMillion: '0.10' });
  expect(list.find(wanted('openai', 'no-such-model'))).toBeNull();
});

test.each([
  [
    'openai',
    'gpt-5.5',
    {
      inputPerMillion: '5.00',
      cachedInputPerMillion: '0.50',
      outputPerMillion: '30.00',
      tiers: [
        {
          aboveInputTokens: 272_000,
          inputPerMillion: '10.00',
          cachedInputPerMillion: '1.00',
          outputPerMillion: '45.00',
        },
      ],
      classes: { priority: { inputPerMillion: '12.50', cachedInputPerMillion: '1.25', outputPerMillion: '75.00' } },
    },
  ],
  [
    'anthropic',
    'claude-opus-5-5',
    {
      inputPerMillion: '4.00',
      cachedInputPerMillion: '0.20',
      cacheWritePerMillion: '5.00',
      outputPerMillion: '20.00',
      classes: {
        fast: {
          inputPerMillion: '8.00',
          cachedInputPerMillion: '0.40',
          cacheWritePerMillion: '10.00',
          outputPerMillion: '40.00',
        },
      },
    },
  ],
  [
    'gemini',
    'gemini-2.5-flash',
    { inputPerMillion: '0.30', cachedInputPerMillion: '0.03', outputPerMillion: '2.50', audioInputPerMillion: '1.00' },
  ],
  [
    'gemini',
    'old-form',
    {
      inputPerMillion: '1.25',
      outputPerMillion: '10.00',
      tiers: [{ aboveInputTokens: 200_000, inputPerMillion: '2.50', outputPerMillion: '15.00' }],
    },
  ],
  ['vertex', 'google/gemini-3.5-flash', { inputPerMillion: '1.50', outputPerMillion: '9.00' }],
  ['openai', 'unpriced', null],
  ['openai', 'odd', null],
  ['openai', 'claude-opus-5-5', null],
  ['no-such-profile', 'gpt-5.5', null],
])('models.dev has %s %s', (profile, model, expected) => {
  expect(readModelsDev(MODELS_DEV).find(wanted(profile, model))).toEqual(expected);
});

test.each([
  [
    'openai',
    'gpt-5.4-mini',
    {
      inputPerMillion: '0.75',
      cachedInputPerMillion: '0.075',
      outputPerMillion: '4.50',
      classes: {
        priority: { inputPerMillion: '1.50', cachedInputPerMillion: '0.15', outputPerMillion: '9.00' },
        flex: { inputPerMillion: '0.375', cachedInputPerMillion: '0.0375', outputPerMillion: '2.25' },
      },
    },
  ],
  [
    'openai',
    'gpt-4o-audio-preview',
    {
      inputPerMillion: '2.50',
      outputPerMillion: '10.00',
      audioInputPerMillion: '40.00',
      audioOutputPerMillion: '80.00',
    },
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    {
      inputPerMillion: '3.00',
      cachedInputPerMillion: '0.30',
      cacheWritePerMillion: '3.75',
      cacheWrite1hPerMillion: '6.00',
      outputPerMillion: '15.00',
      tiers: [
        {
          aboveInputTokens: 200_000,
          inputPerMillion: '6.00',
          cachedInputPerMillion: '0.60',
          cacheWritePerMillion: '7.50',
          cacheWrite1hPerMillion: '12.00',
          outputPerMillion: '22.50',
        },
      ],
    },
  ],
  ['vertex', 'google/gemini-3.5-flash', { inputPerMillion: '1.50', outputPerMillion: '9.00' }],
  ['gemini', 'gemini-3.5-flash', null],
  [
    'azure-openai',
    'gpt-4.1-mini-2025-04-14',
    { inputPerMillion: '0.40', cachedInputPerMillion: '0.10', outputPerMillion: '1.60' },
  ],
  [
    'fireworks',
    'accounts/fireworks/models/qwen3p7-plus',
    { inputPerMillion: '0.40', cachedInputPerMillion: '0.08', outputPerMillion: '1.60' },
  ],
  ['openai', 'text-embedding-3-small', { inputPerMillion: '0.02', outputPerMillion: '0.00' }],
  [
    'openai',
    'by-range',
    {
      inputPerMillion: '0.10',
      outputPerMillion: '0.50',
      tiers: [{ aboveInputTokens: 100_000, inputPerMillion: '0.50', outputPerMillion: '2.50' }],
    },
  ],
  ['openai', 'free', null],
  ['openai', 'sample_spec', null],
  ['anthropic', 'gpt-5.4-mini', null],
])('LiteLLM has %s %s', (profile, model, expected) => {
  expect(readLitellm(LITELLM).find(wanted(profile, model))).toEqual(expected);
});

test('LiteLLM list reads search prices, at the most expensive size', () => {
  const list = readLitellm(LITELLM);
  expect(list.find(wanted('openai', 'gpt-5-search'))?.unitsPerThousand).toEqual({
    web_search: '12.50',
    web_search_preview: '12.50',
    web_search_chat: '12.50',
    file_search: '2.50',
  });
  expect(list.find(wanted('perplexity', 'sonar'))?.unitsPerThousand).toEqual({ web_search: '12.00' });
});

test.each([
  ['models.dev', 'openrouter', {}, ['acme/small-1', 'anthropic/claude-opus-5.5', 'acme/free:free']],
  ['models.dev', 'bedrock-anthropic', {}, ['us.anthropic.claude-opus-5-5-v1:0']],
  ['models.dev', 'bedrock', {}, ['us.anthropic.claude-opus-5-5-v1:0', 'openai.gpt-oss-120b-1:0']],
  ['models.dev', 'vertex-anthropic', {}, ['claude-opus-5-5@default']],
  ['models.dev', 'vertex', {}, ['gemini-3.5-flash']],
  ['models.dev', 'azure-openai', {}, ['gpt-6-sol', 'claude-opus-5-5']],
  ['models.dev', 'foundry', {}, ['gpt-6-sol']],
  ['models.dev', 'foundry-anthropic', {}, ['claude-opus-5-5']],
  ['litellm', 'perplexity', {}, ['sonar']],
  ['litellm', 'azure-deployments', {}, ['gpt-4.1-mini-2025-04-14']],
  ['litellm', 'foundry-anthropic', {}, ['claude-opus-5-5']],
  ['litellm', 'vertex-anthropic', {}, ['claude-opus-5-5']],
  ['litellm', 'vertex', {}, ['gemini-3.5-flash']],
  ['litellm', 'bedrock', { region: 'us-west-2' }, ['moonshotai.kimi-k2.5']],
  ['litellm', 'vllm', {}, []],
])('list %s offers the models of %s', (format, profile, parameters, names) => {
  const list = format === 'litellm' ? readLitellm(LITELLM) : readModelsDev(MODELS_DEV);
  expect(list.models({ profile, parameters }).map(({ model }) => model)).toEqual(names);
});

test('lists offer models with limits, kinds and costs, and a date if they have one', () => {
  const list = readLitellm(LITELLM);
  const named = (name: string) =>
    list.models({ profile: 'openai', parameters: {} }).find(({ model }) => model === name);
  expect(named('gpt-5-search')).toMatchObject({ kind: 'chat', contextLength: 400_000, maxOutputTokens: 128_000 });
  expect(named('text-embedding-3-small')).toMatchObject({ kind: 'embedding', maxOutputTokens: null });
  expect(named('dall-e-9')).toBeUndefined();
  const inRegion = list.models({ profile: 'bedrock', parameters: { region: 'us-west-2' } });
  expect(inRegion[0]?.costs).toMatchObject({ inputPerMillion: '0.60' });
  const dev = readModelsDev(MODELS_DEV);
  expect([list.date, dev.date]).toEqual([null, '2026-10-30']);
  expect(dev.models({ profile: 'openrouter', parameters: {} })[0]).toEqual({
    model: 'acme/small-1',
    displayName: 'Small 1',
    kind: 'chat',
    contextLength: 128_000,
    maxOutputTokens: 8_192,
    costs: { inputPerMillion: '0.20', cachedInputPerMillion: '0.02', outputPerMillion: '0.80' },
    unread: [],
  });
});

const AUDIO = {
  litellm_provider: 'openai',
  input_cost_per_token: 1e-6,
  output_cost_per_token: 4e-6,
  output_cost_per_reasoning_token: 4e-6,
  input_cost_per_audio_token: 1e-5,
  input_cost_per_token_flex: 5e-7,
  output_cost_per_token_flex: 2e-6,
  input_cost_per_audio_token_flex: 5e-6,
  output_cost_per_image_token_flex: 3e-5,
  input_cost_per_token_fast: 2e-6,
  output_cost_per_token_fast: 8e-6,
  cache_creation_input_token_cost_above_1hr_fast: 4e-6,
  code_interpreter_cost_per_session: 0.03,
};

test("LiteLLM's media prices of a class, class fast and containers are read", () => {
  const list = readLitellm({ audio: AUDIO });
  expect(list.find(wanted('openai', 'audio'))).toEqual({
    inputPerMillion: '1.00',
    outputPerMillion: '4.00',
    audioInputPerMillion: '10.00',
    classes: {
      flex: {
        inputPerMillion: '0.50',
        outputPerMillion: '2.00',
        audioInputPerMillion: '5.00',
        imageOutputPerMillion: '30.00',
      },
      fast: { inputPerMillion: '2.00', outputPerMillion: '8.00', cacheWrite1hPerMillion: '4.00' },
    },
    unitsPerThousand: { container: '30.00' },
  });
  expect(list.unread(wanted('openai', 'audio'))).toEqual([]);
});

test.each([
  ['cached audio', { cache_read_input_audio_token_cost: 3e-7 }, ['cache_read_input_audio_token_cost']],
  ['batches', { input_cost_per_token_batches: 5e-7 }, ['input_cost_per_token_batches']],
  ['another class', { input_cost_per_token_ultrafast: 6e-6 }, ['input_cost_per_token_ultrafast']],
  ['a class without input', { output_cost_per_token_priority: 6e-6 }, ['output_cost_per_token_priority']],
  [
    'audio of a tier',
    { input_cost_per_audio_token_above_200k_tokens: 2 },
    ['input_cost_per_audio_token_above_200k_tokens'],
  ],
  ['reasoning apart', { output_cost_per_reasoning_token: 8e-6 }, ['output_cost_per_reasoning_token']],
  ['multipliers', { provider_specific_entry: { us: 1.1 } }, ['provider_specific_entry']],
  ['an unknown price', { moon_grounding_cost_per_query: 0.01 }, ['moon_grounding_cost_per_query']],
  ['a price of 0', { moon_grounding_cost_per_query: 0, provider_specific_entry: {}, max_tokens: 5 }, []],
])("LiteLLM's %s is listed as unread", (_name, more, unread) => {
  const list = readLitellm({ audio: { ...AUDIO, ...more } });
  expect(list.unread(wanted('openai', 'audio'))).toEqual(unread);
  expect(list.models({ profile: 'openai', parameters: {} })[0]?.unread).toEqual(unread);
});

test("LiteLLM's ranges next to figures are listed as unread", () => {
  const ranges = [{ range: [0, 9], input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, cost_per_moon: 1 }];
  const plainEntry = { litellm_provider: 'openai', tiered_pricing: ranges };
  const list = readLitellm({ ranges: plainEntry, both: { ...AUDIO, tiered_pricing: ranges } });
  expect(list.unread(wanted('openai', 'ranges'))).toEqual(['tiered_pricing cost_per_moon']);
  expect(list.unread(wanted('openai', 'both'))).toEqual(['tiered_pricing']);
});

test("models.dev's audio of a class is read and unknown prices are listed as unread", () => {
  const cost = { input: 1, output: 4 };
  const own = { ...cost, reasoning: 4, tiers: [{ ...cost, input_audio: 2, tier: { size: 9 } }] };
  const modes = {
    fast: { cost: { ...cost, input_audio: 3, moon: 1 }, provider: { body: { service_tier: 'priority' } } },
    ultra: { cost },
    plain: {},
  };
  const list = readModelsDev({ openai: { models: { m: { cost: own, experimental: { modes } } } } });
  expect(list.find(wanted('openai', 'm'))?.classes?.priority?.audioInputPerMillion).toBe('3.00');
  expect(list.unread(wanted('openai', 'm'))).toEqual(['input_audio above 9', 'priority moon', 'mode ultra']);
});

test.each([
  ['openrouter', 'anthropic/claude-opus-5.5', 'anthropic/claude-opus-5-5'],
  ['openrouter', 'acme/free:free', 'acme/free:free'],
  ['bedrock-anthropic', 'us.anthropic.claude-opus-5-5-v1:0', 'anthropic/claude-opus-5-5'],
  ['bedrock', 'openai.gpt-oss-120b-1:0', 'openai/gpt-oss-120b-1:0'],
  ['vertex-anthropic', 'claude-opus-5-5@default', 'anthropic/claude-opus-5-5'],
  ['vertex', 'gemini-9', 'google/gemini-9'],
  ['azure-openai', 'gpt-6-sol', 'openai/gpt-6-sol'],
  ['foundry-anthropic', 'claude-new', 'anthropic/claude-new'],
  ['vllm', 'llama', 'vllm/llama'],
])('catalog ID of the model of %s named %s is %s', (profile, model, id) => {
  const known = BUNDLED.models.map((one) => one.id);
  expect(toCatalogId(profile, model, known)).toBe(id);
});

test('provider models read OpenRouter prices, and none where a router picks the model', () => {
  const read = readProviderModels({
    data: [
      {
        id: 'acme/small-1',
        name: 'Small 1',
        context_length: 128_000,
        top_provider: { max_completion_tokens: 8_192 },
        pricing: {
          prompt: '0.0000002',
          completion: '8e-7',
          request: '0.001',
          web_search: '0.01',
          input_cache_read: '0.00000002',
          input_cache_write_1h: '0.0000004',
          image_output: '0.00003',
          audio_output: '0.00002',
          input_audio_cache: '0.0000001',
          internal_reasoning: '0.0000008',
          image: '0',
          discount: 0.1,
        },
      },
      { id: 'acme/auto', pricing: { prompt: '-1', completion: '-1' } },
      { id: 'models/gemini-9', object: 'model' },
      { id: 'text-embedding-9', context_length: 'long' },
      { id: 'acme/painter', architecture: { output_modalities: ['image'] } },
      { name: 'without an ID' },
    ],
  });
  expect(read.map(({ model, kind, costs }) => [model, kind, costs])).toEqual([
    [
      'acme/small-1',
      'chat',
      {
        inputPerMillion: '0.20',
        cachedInputPerMillion: '0.02',
        outputPerMillion: '0.80',
        cacheWrite1hPerMillion: '0.40',
        audioOutputPerMillion: '20.00',
        imageOutputPerMillion: '30.00',
        perCall: '0.001',
        unitsPerThousand: { web_search: '10.00' },
      },
    ],
    ['acme/auto', 'chat', null],
    ['gemini-9', 'chat', null],
    ['text-embedding-9', 'embedding', null],
  ]);
  expect(read[0]).toMatchObject({ contextLength: 128_000, maxOutputTokens: 8_192, displayName: 'Small 1' });
  expect(read.map(({ unread }) => unread)).toEqual([['input_audio_cache'], [], [], []]);
  expect(() => readProviderModels({ models: [] })).toThrow(WrongList);
});

test('completeCosts computes missing prices by the ratio of input prices', () => {
  const { costs, computed } = completeCosts(
    {
      inputPerMillion: '4',
      cachedInputPerMillion: '0.2',
      cacheWritePerMillion: '5',
      outputPerMillion: '20',
      tiers: [{ aboveInputTokens: 200_000, inputPerMillion: '8', outputPerMillion: '30' }],
      classes: { fast: { inputPerMillion: '6', outputPerMillion: '40', cacheWritePerMillion: '9' } },
    },
    { isMessages: true },
  );
  expect(computed).toEqual([
    'cache write for an hour 8.00',
    'cached input above 200000 0.40',
    'cache write above 200000 10.00',
    'cache write for an hour above 200000 16.00',
    'fast cached input 0.30',
    'fast cache write for an hour 12.00',
  ]);
  expect(costs.classes?.fast?.cacheWritePerMillion).toBe('9.00');
  expect(completeCosts({ inputPerMillion: '1', outputPerMillion: '2' }, { isMessages: true }).computed).toEqual([]);
});

test("LiteLLM's regional price takes precedence over the general one", () => {
  const list = readLitellm(LITELLM);
  const model = 'moonshotai.kimi-k2.5';
  expect(list.find(wanted('bedrock', model, { region: 'us-west-2' }))).toMatchObject({ inputPerMillion: '0.60' });
  expect(list.find(wanted('bedrock', model, { region: 'eu-west-1' }))).toMatchObject({ inputPerMillion: '0.72' });
});

test.each([[null], [[]], ['text'], [{}], [{ a: 1 }]])('%j is refused as a list', (value) => {
  expect(() => readLitellm(value)).toThrow(WrongList);
  if (!(typeof value === 'object' && value !== null && Object.keys(value).length === 0 && !Array.isArray(value)))
    expect(() => readModelsDev(value)).toThrow(WrongList);
});
