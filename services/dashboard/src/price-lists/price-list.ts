import type { Prices } from './prices.js';

export const LIST_FORMATS = ['bundled', 'models.dev', 'litellm'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

/** The lookup of a source in a list. */
export interface PriceQuery {
  /** Profile of the source's provider. */
  readonly profile: string;
  readonly upstreamModel: string;
  /** Catalog ID of the model. Finds Azure deployments, which have custom names. */
  readonly modelId?: string;
  /** Parameters that the profile needs, such as a region. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A model that a list or a provider offers, with its costs if known. */
export interface OfferedModel {
  /** The model's name at the provider. */
  readonly model: string;
  readonly displayName: string;
  readonly kind: 'chat' | 'embedding';
  /** In tokens, like `maxOutputTokens`; null: unknown. */
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly costs: Prices | null;
  /** Names of its prices in the list that the catalog cannot store. Absent: none. */
  readonly unread?: readonly string[];
}

/** A list of provider prices. */
export interface PriceList {
  readonly format: ListFormat;
  /** ISO day of the newest entry; null: the list has no dates. */
  readonly date: string | null;
  /** Returns null if the list lacks the model or its price. */
  find(wanted: PriceQuery): Prices | null;
  /** Returns the names of the model's prices above 0 that `find` omits. */
  unread(wanted: PriceQuery): readonly string[];
  /** Returns the chat and embedding models of a profile's provider. */
  models(wanted: Pick<PriceQuery, 'profile' | 'parameters'>): OfferedModel[];
}

/** Most characters of a model's display name in the catalog. */
export const NAME_LENGTH_MAX = 100;
/** Pattern of embedding models' names, for lists that do not mark them. */
export const EMBEDS = /embed/i;

/** Thrown if a list does not have the named format. The message states the expected one. */
export class WrongList extends Error {}
