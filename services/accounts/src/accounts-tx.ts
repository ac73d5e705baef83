import { enqueue, type Tx } from '@gateway/postgres';
import { changeOf } from './rules.js';
import type { AccountsTx } from './tx-ports.js';
import { makeKeysTx } from './keys/store.js';
import { makeMailTx } from './mail/store.js';
import { makeOperatorsTx } from './operators/store.js';
import { makePeopleTx } from './people/store.js';
import { makeSignInTx } from './sign-in/store.js';

/** Outbox messages that become an `admission.apply`. */
const APPLY_TOPIC = 'apply';

/** Queries of one change. `queued` is told of each mail that goes out after its commit. */
export function makeAccountsTx(tx: Tx, queued: () => void): AccountsTx {
  return {
    ...makePeopleTx(tx),
    ...makeKeysTx(tx),
    ...makeOperatorsTx(tx),
    ...makeMailTx(tx, queued),
    ...makeSignInTx(tx, queued),
    async lockCommand(command) {
      await tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [command]);
    },
    tell: (account, changed, records) =>
      enqueue(tx, { topic: APPLY_TOPIC, key: account, body: { change: changeOf(changed), records } }),
    async audit({ actor, action, account, objectId, before, after, kind = 'change', origin = {} }) {
      const { client = null, agent = null, requestId = null } = origin;
      const states = [before && JSON.stringify(before), after && JSON.stringify(after)];
      await tx.execute(AUDIT, [actor, action, account, objectId, ...states, kind, client, agent, requestId]);
    },
  };
}

const AUDIT = `INSERT INTO audit_log
    (actor, action, account, object_id, before, after, kind, client, agent, request_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
