import { z } from 'zod';
import { toUsd } from './decimal.js';
import { EMBEDS, NAME_LENGTH_MAX, WrongList, type OfferedModel } from './price-list.js';
import { normalizeOrNull, type Prices } from './prices.js';

/** USD per token, request or search, as a text. Only OpenRouter has prices. */
const usd = z.union([z.string(), z.number()]).nullish();
const pricing = z.looseObject({
  prompt: usd,
  completion: usd,
  request: usd,
  web_search: usd,
  input_cache_read: usd,
  input_cache_write: usd,
  input_cache_write_1h: usd,
  audio: usd,
  audio_output: usd,
  image_token: usd,
  image_output: usd,
});
/** Already included in the other figures. */
const DISCOUNT = 'discount';
const model = z.object({
  id: z.string().min(1).max(200),
  name: z.string().nullish(),
  display_name: z.string().nullish(),
  context_length: z.int().min(1).nullish().catch(null),
  max_input_tokens: z.int().min(1).nullish().catch(null),
  top_provider: z
    .object({ max_completion_tokens: z.int().min(1).nullish() })
    .nullish()
    .catch(null),
  architecture: z
    .object({ output_modalities: z.array(z.string()).nullish() })
    .nullish()
    .catch(null),
  pricing: pricing.nullish().catch(null),
});
const answer = z.object({ data: z.array(z.unknown()) });

const MILLION_PLACES = 6;
const THOUSAND_PLACES = 3;
/** Prefix of Gemini's names, which its chat endpoint does not need. */
const MODELS_PREFIX = /^models\//;

/**
 * Returns the models of a provider's own `/v1/models`. Only OpenRouter has prices there.
 * @throws WrongList
 */
export function readProviderModels(value: unknown): OfferedModel[] {
  const read = answer.safeParse(Array.isArray(value) ? { data: value } : value);
  if (!read.success) throw new WrongList("the provider's list of models has no `data`");
  return read.data.data.flatMap((one) => {
    const { data } = model.safeParse(one);
    if (data === undefined || data.architecture?.output_modalities?.includes('text') === false) return [];
    const name = data.id.replace(MODELS_PREFIX, '');
    return [
      {
        model: name,
        displayName: (data.name ?? data.display_name ?? name).slice(0, NAME_LENGTH_MAX),
        kind: EMBEDS.test(name) ? ('embedding' as const) : ('chat' as const),
        contextLength: data.context_length ?? data.max_input_tokens ?? null,
        maxOutputTokens: data.top_provider?.max_completion_tokens ?? null,
        costs: data.pricing == null ? null : pricesOf(data.pricing),
        unread: data.pricing == null ? [] : unreadOf(data.pricing),
      },
    ];
  });
}

/** Returns null if there is no price, or if it depends on the model that a router selects (-1). */
function pricesOf(given: z.infer<typeof pricing>): Prices | null {
  const amount = (value: string | number | null | undefined, places: number): string | null =>
    value == null ? null : toUsd(value, places);
  const inputPerMillion = amount(given.prompt, MILLION_PLACES);
  const outputPerMillion = amount(given.completion, MILLION_PLACES);
  if (inputPerMillion === null || outputPerMillion === null) return null;
  const search = amount(given.web_search, THOUSAND_PLACES);
  return normalizeOrNull({
    inputPerMillion,
    outputPerMillion,
    cachedInputPerMillion: amount(given.input_cache_read, MILLION_PLACES),
    cacheWritePerMillion: amount(given.input_cache_write, MILLION_PLACES),
    cacheWrite1hPerMillion: amount(given.input_cache_write_1h, MILLION_PLACES),
    audioInputPerMillion: amount(given.audio, MILLION_PLACES),
    audioOutputPerMillion: amount(given.audio_output, MILLION_PLACES),
    imageInputPerMillion: amount(given.image_token, MILLION_PLACES),
    imageOutputPerMillion: amount(given.image_output, MILLION_PLACES),
    perCall: amount(given.request, 0) ?? undefined,
    unitsPerThousand: search === null || search === '0.00' ? {} : { web_search: search },
  });
}

/**
 * Returns the names of prices above 0 that the catalog cannot store. Reasoning tokens priced as
 * output are not listed.
 */
function unreadOf(given: z.infer<typeof pricing>): string[] {
  return Object.entries(given)
    .filter(([name, value]) => {
      const isEmpty = typeof value === 'object' ? Object.keys(value ?? {}).length === 0 : Number(value ?? 0) === 0;
      if (isEmpty || Object.hasOwn(pricing.shape, name) || name === DISCOUNT) return false;
      return name !== 'internal_reasoning' || Number(value) !== Number(given.completion);
    })
    .map(([name]) => name);
}
