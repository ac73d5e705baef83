import type { Bus } from '@gateway/bus';
import { USAGE_GROUPS_TOTAL, makeUuidV7, shardOfAccount, usageGroupOfShard } from '@gateway/contracts/ids';
import { usageEvents } from '@gateway/contracts/messages';

const STORES_AT_ONCE = 8;

/** 1,000 input tokens at 3 USD and 200 output tokens at 15 USD per million: 6,000,000 nano-USD. */
export const USAGE = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 200 };
export const AMOUNT_NANO_USD = 6_000_000;
export const PRICE = {
  version: 'p1',
  figures: {
    inputPerMillion: 3_000_000_000,
    cachedInputPerMillion: 300_000_000,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: 15_000_000_000,
    perCall: 0,
    tiers: [],
  },
};
export const [MODEL, SOURCE, PROVIDER] = ['acme/large', 'source-1', 'provider-1'] as const;

/** A series of events: `size` per message, of `accounts` accounts in turn. */
export interface EventSeries {
  readonly events: number;
  readonly accounts: number;
  readonly size: number;
}

export const listAccounts = (total: number): string[] => Array.from({ length: total }, (_, n) => `account-${n}`);

/**
 * Stores usage events like those of an edge: wallet-funded calls with one attempt whose cost is
 * known. A message has events of one group.
 */
export async function publishEvents(edge: Bus, { events, accounts, size }: EventSeries): Promise<void> {
  const byGroup = Array.from({ length: USAGE_GROUPS_TOTAL }, (): string[] => []);
  for (const account of listAccounts(accounts)) byGroup[usageGroupOfShard(shardOfAccount(account))]?.push(account);
  const groups = byGroup.flatMap((own, group) => (own.length > 0 ? [{ group, own, sent: 0 }] : []));
  const messages = Math.ceil(events / size);
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < messages) {
      const index = next;
      next += 1;
      const group = groups[index % groups.length];
      if (group === undefined) return;
      const length = Math.min(size, events - index * size);
      const accountOf = (): string => group.own[group.sent++ % group.own.length] ?? '';
      const body = { events: Array.from({ length }, () => createEvent(accountOf())) };
      await edge.store(usageEvents, { group: group.group }, body);
    }
  };
  await Promise.all(Array.from({ length: STORES_AT_ONCE }, send));
}

function createEvent(account: string) {
  const now = Date.now();
  return {
    id: makeUuidV7(now),
    rank: 2 as const,
    outcome: 'settled' as const,
    hold: {
      account,
      key: `key-of-${account}`,
      member: `member-of-${account}`,
      model: MODEL,
      priceVersion: PRICE.version,
      worstNanoUsd: AMOUNT_NANO_USD * 3,
      planMaxNanoUsd: 0,
      walletMaxNanoUsd: null,
      periods: { month: new Date(now).toISOString().slice(0, 7), session5h: null, weekly: null, subscription: null },
      windows: [],
      allotment: null,
      admittedAt: now,
    },
    endpoint: '/v1/chat/completions' as const,
    streamed: true,
    startedAt: now,
    endedAt: now + 900,
    firstByteAt: now + 200,
    status: 200,
    source: SOURCE,
    usage: USAGE,
    evidence: 'reported' as const,
    price: PRICE,
    amountNanoUsd: AMOUNT_NANO_USD,
    attempts: [
      {
        source: SOURCE,
        provider: PROVIDER,
        outcome: 'completed' as const,
        status: 200,
        possiblyPaid: true,
        usage: USAGE,
        cost: PRICE,
      },
    ],
  };
}
