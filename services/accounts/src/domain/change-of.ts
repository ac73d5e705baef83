import type { Versioned } from '../tx-ports.js';

/**
 * The name under which a change waits in the outbox. It follows from what is stored, so that a repeated command, which
 * changes nothing, waits for the change that it finds.
 */
export function changeOf({ id, version }: Versioned): string {
  return `${id}:${version}`;
}
