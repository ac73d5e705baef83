import type { AnswerBodyOf, billingApplyCaps, ReceivedOf } from '@gateway/contracts/messages';
import type { AlertStore } from '../webhooks/alert-ports.js';

/** Takes over caps of keys and members; an older version than the known one changes nothing. */
export async function applyCaps(
  store: Pick<AlertStore, 'applyCaps'>,
  { account, caps }: ReceivedOf<typeof billingApplyCaps>,
): Promise<AnswerBodyOf<typeof billingApplyCaps>> {
  await store.applyCaps(
    account,
    caps.map((cap) => ({ ...cap, capNanoUsd: cap.capNanoUsd === null ? null : BigInt(cap.capNanoUsd) })),
  );
  return { applied: true };
}
