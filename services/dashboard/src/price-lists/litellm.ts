import { parseUsd } from '@gateway/metering';
import { z } from 'zod';
import { usdOf } from './decimal.js';
import { listNamesOf, modelNamesOf } from './list-names.js';
import { NAME_LENGTH_MAX, WrongList, type OfferedModel, type PriceList, type Wanted } from './price-list.js';
import { plainOrNull, type ExtraClass, type Prices, type TieredPrices } from './prices.js';

const list = z.record(z.string(), z.unknown());
/** New fields appear often: what is not known is not read. */
const entry = z.looseObject({ litellm_provider: z.string(), mode: z.string().optional() });
type Entry = z.infer<typeof entry>;

/** A key that is in every such list, and no model. */
const SAMPLE = 'sample_spec';
/** Its figures are USD per token; ours per million. */
const MILLION_PLACES = 6;
const THRESHOLD = /^input_cost_per_token_above_(\d{1,6})k_tokens$/;
const THOUSAND = 1_000;

/**
 * LiteLLM's `model_prices_and_context_window.json`. Regional factors and batches are not read.
 * @throws WrongList
 */
export function readLitellm(value: unknown): PriceList {
  const read = list.safeParse(value);
  const isOne = read.success && Object.values(read.data).some((one) => entry.safeParse(one).success);
  if (!isOne) throw new WrongList("no list of LiteLLM's: models with their `litellm_provider` were expected");
  const entries = new Map(Object.entries(read.data));
  entries.delete(SAMPLE);
  return {
    format: 'litellm',
    date: null,
    find(wanted) {
      for (const key of keysOf(wanted)) {
        const { data } = entry.safeParse(entries.get(key));
        if (data === undefined || !isOfProvider(data, wanted)) continue;
        const found = pricesOf(data, wanted.profile);
        if (found !== null) return found;
      }
      return null;
    },
    models(wanted) {
      const { serves } = listNamesOf(wanted.profile);
      const found = new Map<string, Entry>();
      for (const [key, one] of entries) {
        const name = nameIn(key, wanted);
        const { data } = entry.safeParse(one);
        if (name === null || data === undefined || !isOfProvider(data, wanted)) continue;
        if (serves?.test(name) ?? true) found.set(name, data);
      }
      // A region's own price counts before the general one.
      return [...found].flatMap(([name, data]) =>
        offeredModel(name, data, this.find({ ...wanted, upstreamModel: name })),
      );
    },
  };
}

function isOfProvider({ litellm_provider: provider }: Entry, { profile }: Pick<Wanted, 'profile'>): boolean {
  return listNamesOf(profile).litellmProviders.some((name) => provider.startsWith(name));
}

/** Providers whose models have a slash in their names. */
const NAMES_WITH_SLASH: ReadonlySet<string> = new Set(['openrouter', 'together', 'fireworks', 'groq', 'vertex']);

/** The model's name at the provider; null: the key is of another provider, region or size. */
function nameIn(key: string, wanted: Pick<Wanted, 'profile' | 'parameters'>): string | null {
  for (const prefix of prefixesOf(wanted)) {
    if (!key.startsWith(prefix)) continue;
    const name = key.slice(prefix.length);
    if (NAMES_WITH_SLASH.has(wanted.profile) || !name.includes('/')) return name;
  }
  return null;
}

const KINDS: Readonly<Record<string, OfferedModel['kind']>> = {
  chat: 'chat',
  responses: 'chat',
  completion: 'chat',
  embedding: 'embedding',
};
/** Values of limits are numbers, and texts in old entries. */
const limit = z.coerce.number().int().min(1);

function offeredModel(name: string, found: Entry, costs: Prices | null): OfferedModel[] {
  const kind = KINDS[found.mode ?? 'chat'];
  if (kind === undefined) return [];
  const limitOf = (...names: string[]): number | null =>
    names.map((one) => limit.safeParse(found[one]).data).find((one) => one !== undefined) ?? null;
  return [
    {
      model: name,
      displayName: name.slice(0, NAME_LENGTH_MAX),
      kind,
      contextLength: limitOf('max_input_tokens', 'max_tokens'),
      maxOutputTokens: kind === 'embedding' ? null : limitOf('max_output_tokens', 'max_tokens'),
      costs,
    },
  ];
}

function keysOf(wanted: Wanted): string[] {
  return prefixesOf(wanted).flatMap((prefix) => modelNamesOf(wanted).map((model) => prefix + model));
}

function prefixesOf({ profile, parameters }: Pick<Wanted, 'profile' | 'parameters'>): string[] {
  return listNamesOf(profile).litellmPrefixes.map((prefix) =>
    prefix.replace(/\{(\w+)\}/g, (whole, name: string) => parameters[name] ?? whole),
  );
}

/** Null: no price. An input that costs nothing or is not told is a price that is not known. */
function pricesOf(found: Entry, profile: string): Prices | null {
  const standard = tieredPrices(found, '') ?? pricesByRange(found);
  if (standard === null) return null;
  const classes: Prices['classes'] = {};
  for (const name of ['priority', 'flex'] satisfies ExtraClass[]) {
    const sold = tieredPrices(found, `_${name}`);
    if (sold !== null) classes[name] = sold;
  }
  const perCall = found['input_cost_per_request'];
  const fileSearch = found['file_search_cost_per_1k_calls'];
  return plainOrNull({
    ...standard,
    classes,
    ...(typeof perCall === 'number' ? { perCall: usdOf(perCall) ?? '0' } : {}),
    audioInputPerMillion: million(found['input_cost_per_audio_token']),
    audioOutputPerMillion: million(found['output_cost_per_audio_token']),
    imageInputPerMillion: million(found['input_cost_per_image_token']),
    imageOutputPerMillion: million(found['output_cost_per_image_token']),
    unitsPerThousand: {
      ...searchUnits(found['search_context_cost_per_query'], profile),
      ...(typeof fileSearch === 'number' ? { file_search: usdOf(fileSearch) ?? '0' } : {}),
    },
  });
}

/** One price for each size of the search's context, in USD per search. */
const searchCosts = z.record(z.string(), z.number().min(0));
/** Units under which searches are counted, where it is not `web_search` alone. */
const SEARCH_UNITS: Readonly<Record<string, readonly string[]>> = {
  openai: ['web_search', 'web_search_preview', 'web_search_chat'],
  'azure-openai': ['web_search', 'web_search_preview'],
  'azure-deployments': ['web_search', 'web_search_preview'],
};
const THOUSAND_PLACES = 3;

/** The most expensive size counts: which one a request has is not known before it is served. */
function searchUnits(value: unknown, profile: string): Record<string, string> {
  const { data } = searchCosts.safeParse(value);
  const usd = usdOf(Math.max(0, ...Object.values(data ?? {})), THOUSAND_PLACES);
  if (usd === null || parseUsd(usd) === 0n) return {};
  return Object.fromEntries((SEARCH_UNITS[profile] ?? ['web_search']).map((unit) => [unit, usd]));
}

/** `after`: empty, or of a class: `_priority`. */
function tieredPrices(found: Entry, after: string): TieredPrices | null {
  const base = tokenPrices(found, after);
  if (base === null) return null;
  const sizes = Object.keys(found).flatMap((name) => {
    if (!name.endsWith(after)) return [];
    const size = THRESHOLD.exec(name.slice(0, name.length - after.length))?.[1];
    return size === undefined ? [] : [size];
  });
  const tiers = sizes.flatMap((size) => {
    const prices = tokenPrices(found, `_above_${size}k_tokens${after}`);
    return prices === null ? [] : [{ aboveInputTokens: Number(size) * THOUSAND, ...prices }];
  });
  return { ...base, tiers: tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens) };
}

/** The figures whose names end so. The suffix `_above_1hr` is a lifetime and no size. */
function tokenPrices(found: Entry, after: string) {
  const inputPerMillion = million(found[`input_cost_per_token${after}`]);
  const output = million(found[`output_cost_per_token${after}`]) ?? million(found['output_cost_per_token']);
  const outputPerMillion = output ?? (found.mode === 'embedding' ? '0.00' : null);
  if (inputPerMillion === null || Number(inputPerMillion) === 0 || outputPerMillion === null) return null;
  return {
    inputPerMillion,
    outputPerMillion,
    cachedInputPerMillion: million(found[`cache_read_input_token_cost${after}`]),
    cacheWritePerMillion: million(found[`cache_creation_input_token_cost${after}`]),
    cacheWrite1hPerMillion: million(found[`cache_creation_input_token_cost_above_1hr${after}`]),
  };
}

/** `tiered_pricing`: figures by range of input, the only form for sizes without a name. */
function pricesByRange(found: Entry): TieredPrices | null {
  const ranges = found['tiered_pricing'];
  if (!Array.isArray(ranges)) return null;
  const read = ranges.flatMap((one: unknown) => {
    const { data } = z.looseObject({ range: z.tuple([z.int().min(0)], z.unknown()) }).safeParse(one);
    const prices = data === undefined ? null : tokenPrices({ ...data, litellm_provider: found.litellm_provider }, '');
    return data === undefined || prices === null ? [] : [{ aboveInputTokens: data.range[0], ...prices }];
  });
  const base = read.find(({ aboveInputTokens }) => aboveInputTokens === 0);
  if (base === undefined) return null;
  const { aboveInputTokens: _zero, ...figures } = base;
  return { ...figures, tiers: read.filter(({ aboveInputTokens }) => aboveInputTokens > 0) };
}

function million(value: unknown): string | null {
  return typeof value === 'number' ? usdOf(value, MILLION_PLACES) : null;
}
