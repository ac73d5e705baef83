import type { ManagementRefusal } from '@gateway/contracts/operator';
import { refuse } from '../domain/refusal.js';
import type { CatalogTx } from '../ports.js';

/** Providers, models and sources together; the bus publishes at most 20,000 entries. */
export const OBJECTS_MAX = 19_000;

/** Refuses a new object when the catalog is as large as it can be published. */
export async function checkRoom(tx: CatalogTx): Promise<ManagementRefusal | null> {
  if ((await tx.countObjects()) < OBJECTS_MAX) return null;
  return refuse('state_conflict', `the catalog holds ${OBJECTS_MAX} objects, which is its largest size`);
}
