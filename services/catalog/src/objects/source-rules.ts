import type { CatalogSource } from '@gateway/contracts/messages';
import type { Source } from './rules.js';

/**
 * Prefixes of betas that make a request more expensive than the model's price. A source forwards
 * them only if it lists them.
 */
const PRICE_CHANGING_BETAS = ['fast-mode-'];

type Betas = NonNullable<Source['betas']>;

/** Returns the betas in the form that edges get. */
export function publishedBetas(betas: Betas): Pick<CatalogSource, 'betas' | 'betasRefused'> {
  return betas === 'standard' ? { betas: 'pass', betasRefused: PRICE_CHANGING_BETAS } : { betas };
}
