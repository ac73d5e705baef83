import { isRefusal, type ManagementRefusal } from '@gateway/contracts/operator';
import type { CatalogStore, CatalogTx } from '../ports.js';
import { awaitInForce, type AwaitPorts } from './awaited.js';

/** What saving one object did, inside its transaction. */
export interface Turn<View> {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** Before it; null: it was not there. */
  readonly before: View | null;
  readonly after: View;
  /** The credential is another one, which no view shows. */
  readonly credentialChanged: boolean;
}

/** How a PUT is answered. */
export interface Saved<View> {
  readonly change: Turn<View>['change'];
  readonly revision: number;
  readonly inForce: boolean;
  readonly view: View;
}

export interface SavePorts extends AwaitPorts {
  readonly store: CatalogStore;
}

/** One object in a transaction of its own; then its turn waits until it is in force. */
export async function saveAlone<View>(
  ports: SavePorts,
  save: (tx: CatalogTx) => Promise<Turn<View> | ManagementRefusal>,
): Promise<Saved<View> | ManagementRefusal> {
  const saved = await ports.store.change(async (tx) => {
    const turn = await save(tx);
    return isRefusal(turn) ? turn : { turn, revision: tx.revision() };
  });
  if (isRefusal(saved)) return saved;
  const { turn, revision } = saved;
  return { change: turn.change, revision, inForce: await awaitInForce(ports, revision), view: turn.after };
}
