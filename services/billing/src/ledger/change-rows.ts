import type { Tx } from '@gateway/postgres';
import type { Change } from '../operator-ports.js';

/** Writes who changed what, in the transaction of the change itself. */
export async function insertChange(tx: Tx, { actor, action, account, objectId, before, after }: Change): Promise<void> {
  await tx.execute(
    'INSERT INTO changes (actor, action, account, object_id, before, after) VALUES ($1, $2, $3, $4, $5, $6)',
    [actor, action, account, objectId, jsonOrNull(before), jsonOrNull(after)],
    { name: 'insert_change' },
  );
}

function jsonOrNull(view: object | null): string | null {
  return view === null ? null : JSON.stringify(view);
}
