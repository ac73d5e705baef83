import type { AnswerBodyOf, billingKeyMonths, ReceivedOf } from '@gateway/contracts/messages';
import { keyMonthRow } from '@gateway/metering';
import type { StandingValuesStore } from './insight-ports.js';

/** What keys were charged for in a month: the standing rows that their caps are held against. */
export async function showKeyMonths(
  store: StandingValuesStore,
  { account, month, keys }: ReceivedOf<typeof billingKeyMonths>,
): Promise<AnswerBodyOf<typeof billingKeyMonths>> {
  const keyOf = new Map(keys.map((key) => [keyMonthRow(key, month), key]));
  const values = await store.values(account, [...keyOf.keys()]);
  const rows = values.flatMap(({ name, value }) => {
    const key = keyOf.get(name);
    return key === undefined ? [] : [{ key, chargedNanoUsd: Number(value) }];
  });
  return { rows };
}
