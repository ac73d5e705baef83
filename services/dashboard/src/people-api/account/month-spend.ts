import { billingKeyMonths } from '@gateway/contracts/messages';
import { formatUsd, monthOf } from '@gateway/metering';
import type { AccountContext } from '../route.js';

/** What the keys of a page were charged for in this calendar month (UTC); those that were charged nothing are not named. */
export async function monthSpendOf(
  { door, account }: AccountContext,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const month = monthOf(door.clock.nowMs());
  const { rows } = await door.services.request(billingKeyMonths, { account: account.id, month, keys: [...keys] });
  return new Map(rows.map(({ key, chargedNanoUsd }) => [key, formatUsd(BigInt(chargedNanoUsd))]));
}
