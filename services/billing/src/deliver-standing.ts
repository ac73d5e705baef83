import { objectId, balanceSnapshot, type BalanceSnapshot } from '@gateway/contracts/messages';
import { z } from 'zod';

/** Body of an outbox row of topic `standing`. */
const outboxStanding = z.object({ change: objectId, standing: balanceSnapshot });

/** Tells admission of a change that must be in force before its command is answered. Throws until admission has it. */
export async function deliverStanding(
  apply: (standing: BalanceSnapshot) => Promise<void>,
  row: { readonly topic: string; readonly body: unknown },
): Promise<void> {
  await apply(outboxStanding.parse(row.body).standing);
}
