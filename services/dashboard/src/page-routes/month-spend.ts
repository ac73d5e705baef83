import { billingUsageSeries, OTHER_GROUP } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { isRefusal } from '../domain/refuse.js';
import type { AccountContext } from '../pages/page-route.js';

/** Questions at once for keys that the account's series does not name. */
const AT_ONCE_MAX = 8;

/**
 * What keys were charged for in this calendar month (UTC). One question names the keys with the largest charges; only if others
 * were used as well, each key that is not among them is asked for.
 */
export async function monthSpendOf(
  request: AccountContext,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const spend = await seriesSums(request, null);
  const others = spend.has(OTHER_GROUP) ? keys.filter((key) => !spend.has(key)) : [];
  for (let at = 0; at < others.length; at += AT_ONCE_MAX) {
    const asked = others.slice(at, at + AT_ONCE_MAX);
    const sums = await Promise.all(asked.map((key) => seriesSums(request, key)));
    asked.forEach((key, index) => spend.set(key, sums[index]?.get(key) ?? 0n));
  }
  return new Map([...spend].map(([key, amount]) => [key, formatUsd(amount)]));
}

/** By key; of one key, or of all. Nothing is known while billing refuses. */
async function seriesSums({ door, account }: AccountContext, key: string | null): Promise<Map<string, bigint>> {
  const now = new Date(door.clock.nowMs());
  const answer = await door.services.request(billingUsageSeries, {
    account: account.id,
    from: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()),
    to: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1),
    by: 'day',
    groupBy: 'key',
    ...(key === null ? {} : { key }),
  });
  const sums = new Map<string, bigint>();
  for (const { group, chargedNanoUsd } of isRefusal(answer) ? [] : answer.rows) {
    if (group !== null) sums.set(group, (sums.get(group) ?? 0n) + BigInt(chargedNanoUsd));
  }
  return sums;
}
