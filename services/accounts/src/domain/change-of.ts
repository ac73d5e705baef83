import type { Account } from './objects.js';

/** An account, a key or a member: what has a version. */
export type Versioned = Pick<Account, 'id' | 'version'>;

/**
 * The name under which a change waits in the outbox. It follows from what is stored, so that a repeated command, which
 * changes nothing, waits for the change that it finds.
 */
export function changeOf({ id, version }: Versioned): string {
  return `${id}:${version}`;
}
