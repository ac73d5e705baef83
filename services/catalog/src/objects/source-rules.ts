import type { CatalogSource } from '@gateway/contracts/messages';
import type { Source } from './rules.js';

/**
 * Beginnings of betas that make a call dearer than the model's price: a source passes them on only
 * if it names them.
 */
const PRICE_CHANGING_BETAS = ['fast-mode-'];

type Betas = NonNullable<Source['betas']>;

/** The betas of a source as edges get them. */
export function publishedBetas(betas: Betas): Pick<CatalogSource, 'betas' | 'betasRefused'> {
  return betas === 'standard' ? { betas: 'pass', betasRefused: PRICE_CHANGING_BETAS } : { betas };
}
