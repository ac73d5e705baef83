import { shardOfAccount, usageGroupOfShard } from '@gateway/contracts/ids';
import { USAGE_EVENTS_MAX } from '@gateway/contracts/messages';
import type { UsageEvent } from '@gateway/contracts/messages';
import type { Ports } from '../ports.js';
import { holdsExpired } from './sweep-metrics.js';

/** Records calls of an account that nobody ended. Rejects when they are not stored. */
export async function recordExpired(
  { journal }: Pick<Ports, 'journal'>,
  account: string,
  events: readonly UsageEvent[],
): Promise<void> {
  const group = usageGroupOfShard(shardOfAccount(account));
  for (let from = 0; from < events.length; from += USAGE_EVENTS_MAX) {
    const some = events.slice(from, from + USAGE_EVENTS_MAX);
    await journal.store(group, some);
    holdsExpired.add(some.length);
  }
}
