import { EXTRA_CLASSES, parseUsd } from '@gateway/metering';
import { z } from 'zod';
import { toUsd } from './decimal.js';
import { findListNames, listModelNames } from './list-names.js';
import { NAME_LENGTH_MAX, WrongList, type OfferedModel, type PriceList, type PriceQuery } from './price-list.js';
import { normalizeOrNull, type Prices, type TieredPrices } from './prices.js';

const list = z.record(z.string(), z.unknown());
/** New fields appear often; unknown prices among them are listed as unread. */
const entry = z.looseObject({ litellm_provider: z.string(), mode: z.string().optional() });
type Entry = z.infer<typeof entry>;

/** A documentation entry that is in every list. */
const SAMPLE = 'sample_spec';
/** The list has USD per token, the catalog USD per million tokens. */
const MILLION_PLACES = 6;
const THRESHOLD = /^input_cost_per_token_above_(\d{1,6})k_tokens$/;
const THOUSAND = 1_000;

/**
 * Reads LiteLLM's `model_prices_and_context_window.json`. Prices that the catalog cannot store,
 * such as those of batches, cached audio and regions, are listed as unread.
 * @throws WrongList
 */
export function readLitellm(value: unknown): PriceList {
  const parsed = list.safeParse(value);
  const isOne = parsed.success && Object.values(parsed.data).some((one) => entry.safeParse(one).success);
  if (!isOne) throw new WrongList('not a LiteLLM list: models with `litellm_provider` were expected');
  const entries = new Map(Object.entries(parsed.data));
  entries.delete(SAMPLE);
  const read = (wanted: PriceQuery): ReadPrices | null => {
    for (const key of keysOf(wanted)) {
      const { data } = entry.safeParse(entries.get(key));
      if (data === undefined || !isOfProvider(data, wanted)) continue;
      const found = pricesOf(data, wanted.profile);
      if (found.costs !== null) return found;
    }
    return null;
  };
  return {
    format: 'litellm',
    date: null,
    find: (wanted) => read(wanted)?.costs ?? null,
    unread: (wanted) => read(wanted)?.unread ?? [],
    models(wanted) {
      const { serves } = findListNames(wanted.profile);
      const found = new Map<string, Entry>();
      for (const [key, one] of entries) {
        const name = nameIn(key, wanted);
        const { data } = entry.safeParse(one);
        if (name === null || data === undefined || !isOfProvider(data, wanted)) continue;
        if (serves?.test(name) ?? true) found.set(name, data);
      }
      // A regional price takes precedence over the general one.
      return [...found].flatMap(([name, data]) => offeredModel(name, data, read({ ...wanted, upstreamModel: name })));
    },
  };
}

function isOfProvider({ litellm_provider: provider }: Entry, { profile }: Pick<PriceQuery, 'profile'>): boolean {
  return findListNames(profile).litellmProviders.some((name) => provider.startsWith(name));
}

/** Providers whose model names contain a slash. */
const NAMES_WITH_SLASH: ReadonlySet<string> = new Set(['openrouter', 'together', 'fireworks', 'groq', 'vertex']);

/** Returns the model's name; null: the key is of another provider, region or size. */
function nameIn(key: string, wanted: Pick<PriceQuery, 'profile' | 'parameters'>): string | null {
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
/** Limits are numbers, or texts in old entries. */
const limit = z.coerce.number().int().min(1);

function offeredModel(name: string, found: Entry, read: ReadPrices | null): OfferedModel[] {
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
      costs: read?.costs ?? null,
      unread: read?.unread ?? [],
    },
  ];
}

function keysOf(wanted: PriceQuery): string[] {
  return prefixesOf(wanted).flatMap((prefix) => listModelNames(wanted).map((model) => prefix + model));
}

function prefixesOf({ profile, parameters }: Pick<PriceQuery, 'profile' | 'parameters'>): string[] {
  return findListNames(profile).litellmPrefixes.map((prefix) =>
    prefix.replace(/\{(\w+)\}/g, (whole, name: string) => parameters[name] ?? whole),
  );
}

/** Pattern of fields that are prices or modify one. */
const PRICING = /(^|_)(costs?|prices?|pricing|multiplier|uplift)(_|$)|^provider_specific_entry$/;

/** An entry that records which of its fields were read. */
class Figures {
  readonly #read = new Set<string>();
  readonly names: readonly string[];

  constructor(
    readonly entry: Readonly<Record<string, unknown>>,
    readonly mode: string | undefined,
  ) {
    this.names = Object.keys(entry);
  }

  /** @returns undefined if the entry lacks the field */
  value(name: string): unknown {
    this.#read.add(name);
    return this.entry[name];
  }

  /** Returns a field in USD per million; the entry has USD per unit. */
  million(name: string): string | null {
    const value = this.value(name);
    return typeof value === 'number' ? toUsd(value, MILLION_PLACES) : null;
  }

  /** Returns the names of unread prices above 0, without those equal to a read price. */
  unread(): string[] {
    const reasoning = this.entry['output_cost_per_reasoning_token'];
    const isSame = reasoning === this.entry['output_cost_per_token'];
    return this.names.filter((name) => {
      const value = this.entry[name];
      const isEmpty = typeof value === 'object' ? Object.keys(value ?? {}).length === 0 : !value;
      if (isEmpty || this.#read.has(name) || !PRICING.test(name)) return false;
      return name !== 'output_cost_per_reasoning_token' || !isSame;
    });
  }
}

interface ReadPrices {
  /** Null: no price. If the input price is missing or zero, the price counts as unknown. */
  readonly costs: Prices | null;
  readonly unread: readonly string[];
}

function pricesOf(found: Entry, profile: string): ReadPrices {
  const figures = new Figures(found, found.mode);
  const ranges = readRanges(figures);
  const standard = tieredPrices(figures, '') ?? ranges.prices;
  if (standard === null) return { costs: null, unread: [] };
  const classes: Prices['classes'] = {};
  for (const name of EXTRA_CLASSES) {
    const sold = tieredPrices(figures, `_${name}`);
    if (sold !== null) classes[name] = sold;
  }
  const perCall = figures.value('input_cost_per_request');
  const costs = normalizeOrNull({
    ...standard,
    classes,
    ...(typeof perCall === 'number' ? { perCall: toUsd(perCall) ?? '0' } : {}),
    unitsPerThousand: units(figures, profile),
  });
  return { costs, unread: [...figures.unread(), ...ranges.unread] };
}

/** One price per search context size, in USD per search. */
const searchCosts = z.record(z.string(), z.number().min(0));
/** Units under which a provider counts searches, if not only `web_search`. */
const SEARCH_UNITS: Readonly<Record<string, readonly string[]>> = {
  openai: ['web_search', 'web_search_preview', 'web_search_chat'],
  'azure-openai': ['web_search', 'web_search_preview'],
  'azure-deployments': ['web_search', 'web_search_preview'],
};
/** Profiles where a code interpreter session is a container of the usual size. */
const CONTAINERS = /^(openai|azure-openai|azure-deployments)$/;
const THOUSAND_PLACES = 3;

function units(figures: Figures, profile: string): Record<string, string> {
  const found: Record<string, string> = {};
  // Uses the most expensive size, because a request's size is not known before it is served.
  const searches = searchCosts.safeParse(figures.value('search_context_cost_per_query')).data ?? {};
  const search = toUsd(Math.max(0, ...Object.values(searches)), THOUSAND_PLACES);
  if (search !== null && parseUsd(search) > 0n)
    for (const unit of SEARCH_UNITS[profile] ?? ['web_search']) found[unit] = search;
  const files = figures.value('file_search_cost_per_1k_calls');
  if (typeof files === 'number') found['file_search'] = toUsd(files) ?? '0';
  const session = CONTAINERS.test(profile) ? figures.value('code_interpreter_cost_per_session') : undefined;
  if (typeof session === 'number') found['container'] = toUsd(session, THOUSAND_PLACES) ?? '0';
  return found;
}

/** `after`: suffix of a class such as `_priority`, or empty. */
function tieredPrices(figures: Figures, after: string): TieredPrices | null {
  const base = tokenPrices(figures, after);
  if (base === null) return null;
  const sizes = figures.names.flatMap((name) => {
    if (!name.endsWith(after)) return [];
    const size = THRESHOLD.exec(name.slice(0, name.length - after.length))?.[1];
    return size === undefined ? [] : [size];
  });
  const tiers = sizes.flatMap((size) => {
    const prices = tokenPrices(figures, `_above_${size}k_tokens${after}`);
    return prices === null ? [] : [{ aboveInputTokens: Number(size) * THOUSAND, ...prices }];
  });
  return {
    ...base,
    audioInputPerMillion: figures.million(`input_cost_per_audio_token${after}`),
    audioOutputPerMillion: figures.million(`output_cost_per_audio_token${after}`),
    imageInputPerMillion: figures.million(`input_cost_per_image_token${after}`),
    imageOutputPerMillion: figures.million(`output_cost_per_image_token${after}`),
    tiers: tiers.sort((a, b) => a.aboveInputTokens - b.aboveInputTokens),
  };
}

/** Reads the figures with a suffix. The suffix `_above_1hr` is a lifetime, not a size. */
function tokenPrices(figures: Figures, after: string) {
  const inputPerMillion = figures.million(`input_cost_per_token${after}`);
  if (inputPerMillion === null || Number(inputPerMillion) === 0) return null;
  const output = figures.million(`output_cost_per_token${after}`) ?? figures.million('output_cost_per_token');
  const outputPerMillion = output ?? (figures.mode === 'embedding' ? '0.00' : null);
  if (outputPerMillion === null) return null;
  return {
    inputPerMillion,
    outputPerMillion,
    cachedInputPerMillion:
      figures.million(`cache_read_input_token_cost${after}`) ??
      figures.million(`input_cost_per_token_cache_hit${after}`),
    cacheWritePerMillion: figures.million(`cache_creation_input_token_cost${after}`),
    cacheWrite1hPerMillion: figures.million(`cache_creation_input_token_cost_above_1hr${after}`),
  };
}

/** Reads `tiered_pricing`: figures by input range, used for sizes without a field name. */
function readRanges(found: Figures): { readonly prices: TieredPrices | null; readonly unread: readonly string[] } {
  const none = { prices: null, unread: [] };
  const ranges = found.entry['tiered_pricing'];
  // Ranges next to named figures are listed as unread.
  if (!Array.isArray(ranges) || found.entry['input_cost_per_token'] !== undefined) return none;
  found.value('tiered_pricing');
  const unread = new Set<string>();
  const read = ranges.flatMap((one: unknown) => {
    const { data } = z.looseObject({ range: z.tuple([z.int().min(0)], z.unknown()) }).safeParse(one);
    if (data === undefined) return [];
    const figures = new Figures(data, found.mode);
    const prices = tokenPrices(figures, '');
    for (const name of figures.unread()) unread.add(`tiered_pricing ${name}`);
    return prices === null ? [] : [{ aboveInputTokens: data.range[0], ...prices }];
  });
  const base = read.find(({ aboveInputTokens }) => aboveInputTokens === 0);
  if (base === undefined) return none;
  const { aboveInputTokens: _zero, ...figures } = base;
  const tiers = read.filter(({ aboveInputTokens }) => aboveInputTokens > 0);
  return { prices: { ...figures, tiers }, unread: [...unread] };
}
