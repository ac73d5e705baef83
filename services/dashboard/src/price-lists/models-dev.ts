import { z } from 'zod';
import { toUsd } from './decimal.js';
import { findListNames, listModelNames } from './list-names.js';
import {
  EMBEDS,
  NAME_LENGTH_MAX,
  WrongList,
  type OfferedModel,
  type PriceList,
  type PriceQuery,
} from './price-list.js';
import { normalizeOrNull, type ExtraClass, type Prices, type TieredPrices } from './prices.js';

// Numbers are USD per million tokens. New fields appear often; unknown prices among them are listed
// as unread.
const usd = z.number().min(0).nullish();
const cost = z.looseObject({ input: z.number().min(0), output: z.number().min(0), cache_read: usd, cache_write: usd });
const tiered = cost.extend({
  input_audio: usd,
  output_audio: usd,
  input_image: usd,
  output_image: usd,
  tiers: z.array(cost.extend({ tier: z.object({ type: z.string().optional(), size: z.int().min(1) }) })).nullish(),
  context_over_200k: cost.nullish(),
});
const mode = z.object({
  cost: tiered.nullish(),
  provider: z.object({ body: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});
const model = z.object({
  name: z.string().nullish(),
  last_updated: z.string().nullish(),
  limit: z.object({ context: z.int().nullish(), output: z.int().nullish() }).nullish(),
  modalities: z.object({ output: z.array(z.string()).nullish() }).nullish(),
  cost: tiered.nullish(),
  experimental: z.object({ modes: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});
const list = z.record(z.string(), z.object({ models: z.record(z.string(), z.unknown()) }));

const ISO_DAY = /^\d{4}-\d{2}-\d{2}/;
const ISO_DAY_LENGTH = 10;
const OVER_200K = 200_000;
/** Request fields by which the list's modes ask for a class. */
const CLASS_OF_BODY: readonly (readonly [field: string, value: string, name: ExtraClass])[] = [
  ['service_tier', 'priority', 'priority'],
  ['service_tier', 'flex', 'flex'],
  ['speed', 'fast', 'fast'],
];

/**
 * Reads the `api.json` of models.dev: providers, each with its models. The list has no prices for
 * 1-hour cache writes or for units. Other prices that the catalog cannot store are listed as
 * unread.
 * @throws WrongList
 */
export function readModelsDev(value: unknown): PriceList {
  const parsed = list.safeParse(value);
  if (!parsed.success) throw new WrongList('not a models.dev list: providers with `models` were expected');
  const providers = new Map(Object.entries(parsed.data));
  const read = (wanted: PriceQuery): ReadPrices | null => {
    for (const provider of findListNames(wanted.profile).modelsDev) {
      const models = providers.get(provider)?.models ?? {};
      const name = listModelNames(wanted).find((one) => Object.hasOwn(models, one));
      const found = name === undefined ? null : pricesOf(models[name]);
      if (found !== null) return found;
    }
    return null;
  };
  return {
    format: 'models.dev',
    date: newestDate(parsed.data),
    find: (wanted) => read(wanted)?.costs ?? null,
    unread: (wanted) => read(wanted)?.unread ?? [],
    models({ profile }) {
      const { modelsDev, serves } = findListNames(profile);
      const all = modelsDev.flatMap((provider) => Object.entries(providers.get(provider)?.models ?? {}));
      return all.filter(([name]) => serves?.test(name) ?? true).flatMap(([name, entry]) => offeredModel(name, entry));
    },
  };
}

/** Returns the newest `last_updated` of all models; null: none has one. */
function newestDate(all: z.infer<typeof list>): string | null {
  const dates = Object.values(all).flatMap(({ models }) =>
    Object.values(models).flatMap((entry) => model.safeParse(entry).data?.last_updated ?? []),
  );
  const days = dates.filter((date) => ISO_DAY.test(date)).map((date) => date.slice(0, ISO_DAY_LENGTH));
  return days.sort().at(-1) ?? null;
}

/** Returns an empty list if the entry is malformed or the model outputs no text. */
function offeredModel(name: string, entry: unknown): OfferedModel[] {
  const { data } = model.safeParse(entry);
  if (data === undefined || data.modalities?.output?.includes('text') === false) return [];
  const read = pricesOf(entry);
  return [
    {
      model: name,
      displayName: (data.name ?? name).slice(0, NAME_LENGTH_MAX),
      kind: EMBEDS.test(name) ? 'embedding' : 'chat',
      contextLength: data.limit?.context || null,
      maxOutputTokens: data.limit?.output || null,
      costs: read?.costs ?? null,
      unread: read?.unread ?? [],
    },
  ];
}

interface ReadPrices {
  readonly costs: Prices;
  readonly unread: readonly string[];
}

function pricesOf(entry: unknown): ReadPrices | null {
  const read = model.safeParse(entry);
  if (!read.success || read.data.cost == null) return null;
  const { cost: given, experimental } = read.data;
  const standard = tieredPrices(given);
  if (standard === null) return null;
  const unread = unreadOf(given, '');
  const classes: Prices['classes'] = {};
  for (const [named, one] of Object.entries(experimental?.modes ?? {})) {
    const { data } = mode.safeParse(one);
    if (data?.cost == null) continue;
    const body = data.provider?.body ?? {};
    const name = CLASS_OF_BODY.find(([field, value]) => body[field] === value)?.[2];
    const sold = tieredPrices(data.cost);
    if (name === undefined || sold === null) unread.push(`mode ${named}`);
    else {
      classes[name] = sold;
      unread.push(...unreadOf(data.cost, `${name} `));
    }
  }
  const costs = normalizeOrNull({ ...standard, classes });
  return costs === null ? null : { costs, unread };
}

/** Fields of costs that are read, including those of a tier. */
const READ: ReadonlySet<string> = new Set([...Object.keys(tiered.shape)]);
const READ_OF_TIER: ReadonlySet<string> = new Set([...Object.keys(cost.shape), 'tier']);

/**
 * Returns the names of prices above 0 that the catalog cannot store. Reasoning tokens priced as
 * output are not listed.
 */
function unreadOf({ tiers, context_over_200k: over, ...base }: z.infer<typeof tiered>, before: string): string[] {
  const named = (prices: z.infer<typeof cost>, known: ReadonlySet<string>, after: string): string[] =>
    Object.entries(prices).flatMap(([name, value]) => {
      const isRead = known.has(name) || !value || (name === 'reasoning' && value === prices.output);
      return isRead ? [] : [`${before}${name}${after}`];
    });
  const ofTiers = tiers ?? (over == null ? [] : [{ ...over, tier: { size: OVER_200K } }]);
  return [...named(base, READ, ''), ...ofTiers.flatMap((one) => named(one, READ_OF_TIER, ` above ${one.tier.size}`))];
}

/** Reads `context_over_200k` only without tiers, because the two may differ. */
function tieredPrices({ tiers, context_over_200k: over, ...base }: z.infer<typeof tiered>): TieredPrices | null {
  const read = tokenPrices(base);
  const given = tiers ?? (over == null ? [] : [{ ...over, tier: { size: OVER_200K } }]);
  const found = given.flatMap((one) => {
    const figures = tokenPrices(one);
    return figures === null ? [] : [{ aboveInputTokens: one.tier.size, ...figures }];
  });
  if (read === null) return null;
  return {
    ...read,
    audioInputPerMillion: optional(base.input_audio),
    audioOutputPerMillion: optional(base.output_audio),
    imageInputPerMillion: optional(base.input_image),
    imageOutputPerMillion: optional(base.output_image),
    tiers: found,
  };
}

function tokenPrices({ input, output, cache_read, cache_write }: z.infer<typeof cost>) {
  const [inputPerMillion, outputPerMillion] = [toUsd(input), toUsd(output)];
  if (inputPerMillion === null || outputPerMillion === null) return null;
  return {
    inputPerMillion,
    outputPerMillion,
    cachedInputPerMillion: optional(cache_read),
    cacheWritePerMillion: optional(cache_write),
  };
}

function optional(value: number | null | undefined): string | null {
  return value == null ? null : toUsd(value);
}
