import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { enqueue, type Tx } from '@gateway/postgres';

/** Outbox messages that become an `admission.apply` with a standing. */
const STANDING_TOPIC = 'standing';

/** For the transaction that makes the change, under the account's lock: changes of one account arrive in their order. */
export async function enqueueStanding(tx: Tx, change: string, standing: BalanceSnapshot): Promise<void> {
  await enqueue(tx, { topic: STANDING_TOPIC, key: standing.account, body: { change, standing } });
}
