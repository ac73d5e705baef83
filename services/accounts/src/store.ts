import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { createAccountReads, createAccountWrites } from './accounts/store.js';
import { createAuditReads } from './audit/store.js';
import { createBaseReads, createBaseWrites } from './base/store.js';
import { createKeyReads, createKeyWrites } from './keys/store.js';
import { createMailReads, createMailWrites } from './mail/store.js';
import { createOperatorReads, createOperatorWrites } from './operators/store.js';
import { createPeopleReads, createPeopleWrites } from './people/store.js';
import { createSessionReads, createSignInWrites } from './sign-in/store.js';

/**
 * Combines the stores of all features: reads, which are one statement and see one instant, and
 * changes.
 * @param onMailQueued called after the commit of a change that queued an email
 */
export function createAccountsStore(pool: Pool, onMailQueued: () => void = () => undefined) {
  const queries = onPool(pool);
  return {
    ...createBaseReads(queries),
    ...createAccountReads(queries),
    ...createPeopleReads(queries),
    ...createKeyReads(pool),
    ...createOperatorReads(queries),
    ...createMailReads(queries),
    ...createSessionReads(queries),
    ...createAuditReads(queries),
    /** Runs one change in one transaction. */
    async change<T>(work: (tx: ReturnType<typeof createAccountsTx>) => Promise<T>): Promise<T> {
      let hasMail = false;
      const queued = (): void => {
        hasMail = true;
      };
      const result = await inTransaction(pool, (tx) => work(createAccountsTx(tx, queued)));
      if (hasMail) onMailQueued();
      return result;
    },
  };
}

/** Combines the queries of a transaction. `queued` is called for each email to send after it. */
function createAccountsTx(tx: Tx, queued: () => void) {
  return {
    ...createBaseWrites(tx),
    ...createAccountWrites(tx),
    ...createPeopleWrites(tx),
    ...createKeyWrites(tx),
    ...createOperatorWrites(tx),
    ...createMailWrites(tx, queued),
    ...createSignInWrites(tx),
  };
}
