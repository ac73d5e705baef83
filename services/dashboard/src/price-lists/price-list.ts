import type { Prices } from './prices.js';

/** The formats in which lists are read. */
export const LIST_FORMATS = ['bundled', 'models.dev', 'litellm'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

/** What a source is asked for in a list. */
export interface Wanted {
  /** Of its provider. */
  readonly profile: string;
  readonly upstreamModel: string;
  /** Its ID in the catalog. A deployment at Azure may have any name, so it is found by this. */
  readonly modelId?: string;
  /** What the profile leaves open, such as a region. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A model that a list or a provider offers, with what it costs where that is known. */
export interface OfferedModel {
  /** Its name at the provider. */
  readonly model: string;
  readonly displayName: string;
  readonly kind: 'chat' | 'embedding';
  /** In tokens, as `maxOutputTokens`; null: not known. */
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly costs: Prices | null;
  /** Names of its prices that the list has and the catalog has no place for. Absent: none. */
  readonly unread?: readonly string[];
}

/** A list of what providers charge. */
export interface PriceList {
  readonly format: ListFormat;
  /** ISO day of its newest entry, as far as the list itself has dates; null: it has none. */
  readonly date: string | null;
  /** Null: it does not have the model, or no price of it. */
  find(wanted: Wanted): Prices | null;
  /** Names of the model's prices above 0 that `find` leaves out. */
  unread(wanted: Wanted): readonly string[];
  /** Returns the chat and embedding models of a profile's provider. */
  models(wanted: Pick<Wanted, 'profile' | 'parameters'>): OfferedModel[];
}

/** Characters of a model's display name in the catalog. */
export const NAME_LENGTH_MAX = 100;
/** Names of embedding models, where a list does not mark them. */
export const EMBEDS = /embed/i;

/** A list whose form is not the one that was named. The message says what was expected. */
export class WrongList extends Error {}
