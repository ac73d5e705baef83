import type { Provider, Source } from './objects.js';
import { sameContent } from './same-content.js';

type Auth = NonNullable<Source['auth']>;

/** How a provider's format sends a key where the source says nothing. */
export function defaultAuth(format: Provider['format'] | undefined): Auth {
  return format === 'anthropic' ? { type: 'header', header: 'x-api-key' } : { type: 'bearer' };
}

/**
 * What is kept of a source's `auth`. A view shows the default where none is kept: that default put again keeps none, so
 * that a source put as it was read is unchanged.
 */
export function keptAuth(
  wanted: Source['auth'],
  before: Pick<Source, 'auth'> | null,
  format: Provider['format'],
): Source['auth'] {
  return before?.auth === null && sameContent(wanted, defaultAuth(format)) ? null : wanted;
}
