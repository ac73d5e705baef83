import type { CatalogSource } from '@gateway/contracts/messages';
import type { Provider, Source } from './objects.js';
import { sameContent } from './same-content.js';

/** Beginnings of betas that make a call dearer than the model's price: a source passes them on only if it says so. */
const PRICE_CHANGING_BETAS = ['fast-mode-'];

type Betas = NonNullable<Source['betas']>;

/** Which betas go on to a provider of this format where the source says nothing. */
export function defaultBetas(format: Provider['format'] | undefined): Betas {
  return format === 'anthropic' ? 'standard' : [];
}

/** What is kept of a source's `betas`: the default put again as a view showed it keeps none, as with `auth`. */
export function keptBetas(
  wanted: Source['betas'],
  before: Pick<Source, 'betas'> | null,
  format: Provider['format'],
): Source['betas'] {
  return before?.betas === null && sameContent(wanted, defaultBetas(format)) ? null : wanted;
}

/** As edges are told. */
export function publishedBetas(betas: Betas): Pick<CatalogSource, 'betas' | 'betasRefused'> {
  return betas === 'standard' ? { betas: 'pass', betasRefused: PRICE_CHANGING_BETAS } : { betas };
}
