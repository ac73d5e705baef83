import type { StandingOfAccount } from '@gateway/contracts/messages';
import { enqueue, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { ChangeStore } from '../ports.js';

/** Outbox messages that become an `admission.apply` with a standing. */
const STANDING_TOPIC = 'standing';

export function makeChangeStore(pool: Pool): ChangeStore {
  const queries = onPool(pool);
  return {
    async isDelivered(account, change) {
      const row = await queries.one<{ waiting: boolean }>(
        `SELECT EXISTS (SELECT FROM outbox WHERE key = $1 AND body ->> 'change' = $2) AS waiting`,
        [account, change],
      );
      return row?.waiting === false;
    },
  };
}

/** For the transaction that makes the change, under the account's lock: changes of one account arrive in their order. */
export async function enqueueStanding(tx: Tx, change: string, standing: StandingOfAccount): Promise<void> {
  await enqueue(tx, { topic: STANDING_TOPIC, key: standing.account, body: { change, standing } });
}
