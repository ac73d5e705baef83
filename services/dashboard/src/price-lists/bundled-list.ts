import { ENDPOINTS } from '@gateway/contracts/messages';
import { profileId, scalars } from '@gateway/contracts/operator';
import { z } from 'zod';
import { findListNames, listModelNames } from './list-names.js';
import type { PriceList } from './price-list.js';
import { prices, type Prices } from './prices.js';

/** A year, a month or a day. */
const date = z.string().regex(/^\d{4}(-\d{2}(-\d{2})?)?$/);
const source = z.string().min(1).max(500);

/** A model at one provider, with its costs as of a day. */
export const listedModel = z.strictObject({
  /** Its catalog ID, which is the same at all providers of the model. */
  id: scalars.modelId,
  /** ID of a profile. */
  provider: profileId,
  model: z.string().min(1).max(200),
  displayName: z.string().min(1).max(100),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().min(1).nullable(),
  maxOutputTokens: z.int().min(1).nullable(),
  costs: prices,
  /** The last UTC day of `costs`, with the costs that follow. */
  validUntil: z.iso.date().optional(),
  afterwards: prices.optional(),
  /** The UTC day from which the provider no longer serves the model. */
  endsOn: z.iso.date().optional(),
  endpoints: z.array(z.enum(ENDPOINTS)).min(1),
  /** Where the costs were read, and when. */
  source,
  date,
  /** Sources of figures or dates that were read elsewhere. */
  moreSources: z
    .array(z.strictObject({ figures: z.string().min(1).max(100), source, date }))
    .max(8)
    .optional(),
  /** Facts that an operator needs to set a price. */
  note: z.string().max(300).optional(),
});
export type ListedModel = z.infer<typeof listedModel>;

/** `lists/models.json`: figures read on different days, assembled on one day. */
export const bundledList = z.strictObject({ assembledOn: z.iso.date(), models: z.array(listedModel).max(1_000) });
export type BundledList = z.infer<typeof bundledList>;

/**
 * Returns the list as of a UTC day: with the costs in force and without models that have ended.
 * `validUntil` and `afterwards` remain for models whose costs will change.
 */
export function resolveList(list: BundledList, today: string): BundledList {
  const models = list.models.flatMap(({ validUntil, afterwards, ...model }): ListedModel[] => {
    if (model.endsOn !== undefined && model.endsOn <= today) return [];
    if (validUntil === undefined || afterwards === undefined) return [model];
    return validUntil < today ? [{ ...model, costs: afterwards }] : [{ ...model, validUntil, afterwards }];
  });
  return { ...list, models };
}

const DAY_MS = 86_400_000;

/** Returns the announced costs and their first day; null: none are known. */
export function findLaterCosts({
  validUntil,
  afterwards,
}: ListedModel): { costs: Prices; effectiveFrom: string } | null {
  if (validUntil === undefined || afterwards === undefined) return null;
  return { costs: afterwards, effectiveFrom: new Date(Date.parse(validUntil) + DAY_MS).toISOString() };
}

/** Returns the listed models of a profile's provider. */
export function listedModelsOf({ models }: BundledList, profile: string): ListedModel[] {
  const { bundled } = findListNames(profile);
  return models.filter(({ provider }) => provider === bundled);
}

export function bundledPrices(list: BundledList): PriceList {
  return {
    format: 'bundled',
    date: list.assembledOn,
    find(wanted) {
      const models = listedModelsOf(list, wanted.profile);
      for (const name of listModelNames(wanted)) {
        const found = models.find(({ model }) => model === name);
        if (found !== undefined) return found.costs;
      }
      return null;
    },
    unread: () => [],
    models: ({ profile }) => listedModelsOf(list, profile),
  };
}
