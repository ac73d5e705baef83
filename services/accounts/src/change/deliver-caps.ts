import { billingApplyCaps, type BodyOf } from '@gateway/contracts/messages';

/** Tells billing caps of keys and members, for alerts. Throws until billing has them. */
export async function deliverCaps(
  apply: (caps: BodyOf<typeof billingApplyCaps>) => Promise<unknown>,
  row: { readonly body: unknown },
): Promise<void> {
  await apply(billingApplyCaps.body.parse(row.body));
}
