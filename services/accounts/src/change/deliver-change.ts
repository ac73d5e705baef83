import { accountRecord, keyRecord, memberRecord } from '@gateway/contracts/messages';
import { z } from 'zod';

const MANY_MAX = 100;

/** Body of an outbox row. */
const outboxChange = z.object({
  change: z.string(),
  records: z.object({
    accounts: z.array(accountRecord).max(MANY_MAX).optional(),
    keys: z.array(keyRecord).max(MANY_MAX).optional(),
    members: z.array(memberRecord).max(MANY_MAX).optional(),
  }),
});
export type RecordsToApply = z.infer<typeof outboxChange>['records'];

/** Tells admission of a change that must be in force before its command is answered. Throws until admission has it. */
export async function deliverChange(
  apply: (records: RecordsToApply) => Promise<unknown>,
  row: { readonly body: unknown },
): Promise<void> {
  await apply(outboxChange.parse(row.body).records);
}
