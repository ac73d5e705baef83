import type { CatalogSource } from '@gateway/contracts/messages';
import { type Provider, type Source, sameContent } from './rules.js';

type Auth = NonNullable<Source['auth']>;

/** How a provider's format sends a key where the source has no setting. */
export function defaultAuth(format: Provider['format'] | undefined): Auth {
  return format === 'anthropic' ? { type: 'header', header: 'x-api-key' } : { type: 'bearer' };
}

/**
 * What is kept of a source's `auth`. A view shows the default where none is kept: that default put
 * again keeps none, so that a source put as it was read is unchanged.
 */
export function keptAuth(
  wanted: Source['auth'],
  before: Pick<Source, 'auth'> | null,
  format: Provider['format'],
): Source['auth'] {
  return before?.auth === null && sameContent(wanted, defaultAuth(format)) ? null : wanted;
}

/**
 * Beginnings of betas that make a call dearer than the model's price: a source passes them on only
 * if it names them.
 */
const PRICE_CHANGING_BETAS = ['fast-mode-'];

type Betas = NonNullable<Source['betas']>;

/** Which betas go on to a provider of this format where the source has no setting. */
export function defaultBetas(format: Provider['format'] | undefined): Betas {
  return format === 'anthropic' ? 'standard' : [];
}

/**
 * What is kept of a source's `betas`: the default put again as a view showed it keeps none, as with
 * `auth`.
 */
export function keptBetas(
  wanted: Source['betas'],
  before: Pick<Source, 'betas'> | null,
  format: Provider['format'],
): Source['betas'] {
  return before?.betas === null && sameContent(wanted, defaultBetas(format)) ? null : wanted;
}

/** The betas of a source as edges get them. */
export function publishedBetas(betas: Betas): Pick<CatalogSource, 'betas' | 'betasRefused'> {
  return betas === 'standard' ? { betas: 'pass', betasRefused: PRICE_CHANGING_BETAS } : { betas };
}
