import type { Prices } from './prices.js';

/** The formats in which lists are read. */
export const LIST_FORMATS = ['bundled', 'models.dev', 'litellm'] as const;
export type ListFormat = (typeof LIST_FORMATS)[number];

/** What a source is asked for in a list. */
export interface Wanted {
  /** Of its provider. */
  readonly profile: string;
  readonly upstreamModel: string;
  /** What the profile leaves open, such as a region. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A list of what providers charge. */
export interface PriceList {
  readonly format: ListFormat;
  /** The day that it says that it is of; null: it does not. */
  readonly date: string | null;
  /** Null: it does not have the model, or no price of it. */
  find(wanted: Wanted): Prices | null;
}

/** A list whose form is not the one that was named. The message says what was expected. */
export class WrongList extends Error {}
