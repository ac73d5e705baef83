import type { AccountRecord, BodyOf, billingApplyCaps, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import { enqueue, inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { createAccountReads, createAccountWrites } from './accounts/store.js';
import { createAuditReads, createAuditWrites } from './audit/store.js';
import { createKeyReads, createKeyWrites } from './keys/store.js';
import { createMailReads, createMailWrites } from './mail/store.js';
import { createOperatorReads, createOperatorWrites } from './operators/store.js';
import { createPeopleReads, createPeopleWrites } from './people/store.js';
import { changeOf, type Versioned } from './rules.js';
import { createSessionReads, createSignInWrites } from './sign-in/store.js';

/** Outbox messages that become an `admission.apply`. */
const APPLY_TOPIC = 'apply';
/** The outbox of caps for billing. */
export const BILLING_OUTBOX = 'billing_outbox';

/** What admission gets of a change. */
interface ChangedRecords {
  readonly accounts?: AccountRecord[];
  readonly keys?: KeyRecord[];
  readonly members?: MemberRecord[];
}
type Caps = BodyOf<typeof billingApplyCaps>['caps'];

/** The queries of one change, in one transaction. */
export type AccountsTx = ReturnType<typeof createAccountsTx>;
/** Reads of all features, each one statement that sees one instant, and their changes. */
export type AccountsStore = ReturnType<typeof createAccountsStore>;

/**
 * The schema `accounts`, as the features' stores read and write it.
 * @param onMailQueued called after the commit of a change that has queued a mail
 */
export function createAccountsStore(pool: Pool, onMailQueued: () => void = () => undefined) {
  const queries = onPool(pool);
  return {
    ...createAccountReads(queries),
    ...createPeopleReads(queries),
    ...createKeyReads(pool),
    ...createOperatorReads(queries),
    ...createMailReads(queries),
    ...createSessionReads(queries),
    ...createAuditReads(queries),
    /** Runs one change in one transaction. */
    async change<T>(work: (tx: AccountsTx) => Promise<T>): Promise<T> {
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

/** Composes the queries of one change. `queued` is called for each mail that goes out after its commit. */
function createAccountsTx(tx: Tx, queued: () => void) {
  return {
    ...createAccountWrites(tx),
    ...createPeopleWrites(tx),
    ...createKeyWrites(tx),
    ...createOperatorWrites(tx),
    ...createMailWrites(tx, queued),
    ...createSignInWrites(tx),
    ...createAuditWrites(tx),
    /** Nobody else works on this command until the end. For objects that have no account to lock yet. */
    async lockCommand(command: string): Promise<void> {
      await tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [command]);
    },
    /** Admission gets the records after the commit; under the account's lock, so in the order of its changes. */
    publishChange: (account: string, changed: Versioned, records: ChangedRecords): Promise<void> =>
      enqueue(tx, { topic: APPLY_TOPIC, key: account, body: { change: changeOf(changed), records } }),
    /** Billing gets the caps after the commit; nobody waits for it. */
    publishCaps: (account: string, caps: Caps): Promise<void> =>
      enqueue(tx, { topic: 'caps', key: account, body: { account, caps } }, BILLING_OUTBOX),
  };
}
