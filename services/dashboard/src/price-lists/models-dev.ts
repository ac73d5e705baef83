import { z } from 'zod';
import { usdOf } from './decimal.js';
import { listNamesOf, modelNamesOf } from './list-names.js';
import { EMBEDS, NAME_LENGTH_MAX, WrongList, type OfferedModel, type PriceList } from './price-list.js';
import { plainOrNull, type ExtraClass, type Prices, type TieredPrices } from './prices.js';

// Numbers are USD per million tokens. New fields appear often: what is not known is not read.
const usd = z.number().min(0).nullish();
const cost = z.object({ input: z.number().min(0), output: z.number().min(0), cache_read: usd, cache_write: usd });
const tiered = cost.extend({
  input_audio: usd,
  output_audio: usd,
  input_image: usd,
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
/** What of a request asks for a class, as modes of the list name it. */
const CLASS_OF_BODY: readonly (readonly [field: string, value: string, name: ExtraClass])[] = [
  ['service_tier', 'priority', 'priority'],
  ['service_tier', 'flex', 'flex'],
  ['speed', 'fast', 'fast'],
];

/**
 * The `api.json` of models.dev: providers, each with its models. It has no price for cache writes
 * that live an hour, and none by use.
 * @throws WrongList
 */
export function readModelsDev(value: unknown): PriceList {
  const read = list.safeParse(value);
  if (!read.success) throw new WrongList('no list of models.dev: providers with their `models` were expected');
  const providers = new Map(Object.entries(read.data));
  return {
    format: 'models.dev',
    date: newestDate(read.data),
    find(wanted) {
      for (const provider of listNamesOf(wanted.profile).modelsDev) {
        const models = providers.get(provider)?.models ?? {};
        const name = modelNamesOf(wanted).find((one) => Object.hasOwn(models, one));
        const found = name === undefined ? null : pricesOf(models[name]);
        if (found !== null) return found;
      }
      return null;
    },
    models({ profile }) {
      const { modelsDev, serves } = listNamesOf(profile);
      const all = modelsDev.flatMap((provider) => Object.entries(providers.get(provider)?.models ?? {}));
      return all.filter(([name]) => serves?.test(name) ?? true).flatMap(([name, entry]) => offeredModel(name, entry));
    },
  };
}

/** The newest `last_updated` of all models; null: none has one. */
function newestDate(all: z.infer<typeof list>): string | null {
  const dates = Object.values(all).flatMap(({ models }) =>
    Object.values(models).flatMap((entry) => model.safeParse(entry).data?.last_updated ?? []),
  );
  const days = dates.filter((date) => ISO_DAY.test(date)).map((date) => date.slice(0, ISO_DAY_LENGTH));
  return days.sort().at(-1) ?? null;
}

/** Empty: the entry cannot be read, or the model writes no text. */
function offeredModel(name: string, entry: unknown): OfferedModel[] {
  const { data } = model.safeParse(entry);
  if (data === undefined || data.modalities?.output?.includes('text') === false) return [];
  return [
    {
      model: name,
      displayName: (data.name ?? name).slice(0, NAME_LENGTH_MAX),
      kind: EMBEDS.test(name) ? 'embedding' : 'chat',
      contextLength: data.limit?.context || null,
      maxOutputTokens: data.limit?.output || null,
      costs: pricesOf(entry),
    },
  ];
}

function pricesOf(entry: unknown): Prices | null {
  const read = model.safeParse(entry);
  if (!read.success || read.data.cost == null) return null;
  const { cost: given, experimental } = read.data;
  const standard = tieredPrices(given);
  if (standard === null) return null;
  const classes: Prices['classes'] = {};
  for (const one of Object.values(experimental?.modes ?? {})) {
    const { data } = mode.safeParse(one);
    const body = data?.provider?.body ?? {};
    const name = CLASS_OF_BODY.find(([field, value]) => body[field] === value)?.[2];
    const sold = data?.cost == null ? null : tieredPrices(data.cost);
    if (name !== undefined && sold !== null) classes[name] = sold;
  }
  return plainOrNull({
    ...standard,
    classes,
    audioInputPerMillion: optional(given.input_audio),
    audioOutputPerMillion: optional(given.output_audio),
    imageInputPerMillion: optional(given.input_image),
  });
}

/** `context_over_200k` counts only where there are no tiers: beside them it may differ. */
function tieredPrices({ tiers, context_over_200k: over, ...base }: z.infer<typeof tiered>): TieredPrices | null {
  const read = tokenPrices(base);
  const given = tiers ?? (over == null ? [] : [{ ...over, tier: { size: OVER_200K } }]);
  const found = given.flatMap((one) => {
    const figures = tokenPrices(one);
    return figures === null ? [] : [{ aboveInputTokens: one.tier.size, ...figures }];
  });
  return read === null ? null : { ...read, tiers: found };
}

function tokenPrices({ input, output, cache_read, cache_write }: z.infer<typeof cost>) {
  const [inputPerMillion, outputPerMillion] = [usdOf(input), usdOf(output)];
  if (inputPerMillion === null || outputPerMillion === null) return null;
  return {
    inputPerMillion,
    outputPerMillion,
    cachedInputPerMillion: optional(cache_read),
    cacheWritePerMillion: optional(cache_write),
  };
}

function optional(value: number | null | undefined): string | null {
  return value == null ? null : usdOf(value);
}
