import { ENDPOINTS } from '@gateway/contracts/messages';
import { profileId, scalars } from '@gateway/contracts/operator';
import { z } from 'zod';
import { listNamesOf } from './list-names.js';
import type { PriceList } from './price-list.js';
import { prices } from './prices.js';

/** A month or a day. */
const date = z.string().regex(/^\d{4}-\d{2}(-\d{2})?$/);

/** A model at one provider, with what it cost there on a day. */
export const listedModel = z.strictObject({
  /** Its name at the gateway: the same for the same model at several providers. */
  id: scalars.modelId,
  /** A profile. */
  provider: profileId,
  /** Its name at the provider. */
  model: z.string().min(1).max(200),
  displayName: z.string().min(1).max(100),
  kind: z.enum(['chat', 'embedding']),
  contextLength: z.int().min(1).nullable(),
  maxOutputTokens: z.int().min(1).nullable(),
  costs: prices,
  endpoints: z.array(z.enum(ENDPOINTS)).min(1),
  /** Where the costs were read. */
  source: z.string().min(1).max(500),
  date,
  /** What whoever sets a price should know. */
  note: z.string().max(300).optional(),
});
export type ListedModel = z.infer<typeof listedModel>;

/** `lists/models.json`. */
export const bundledList = z.strictObject({ date: z.iso.date(), models: z.array(listedModel).max(1_000) });
export type BundledList = z.infer<typeof bundledList>;

/** The listed models of a profile's provider. */
export function listedModelsOf({ models }: BundledList, profile: string): ListedModel[] {
  const { bundled } = listNamesOf(profile);
  return models.filter(({ provider }) => provider === bundled);
}

/** The costs of the bundled list. */
export function bundledPrices(list: BundledList): PriceList {
  return {
    format: 'bundled',
    date: list.date,
    find: ({ profile, upstreamModel }) =>
      listedModelsOf(list, profile).find(({ model }) => model === upstreamModel)?.costs ?? null,
  };
}
