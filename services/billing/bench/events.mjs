// Usage events like those of an edge: wallet-funded calls with one attempt whose cost is known.
import { makeUuidV7, shardOfAccount, USAGE_GROUPS_TOTAL, usageGroupOfShard } from '@gateway/contracts/ids';
import { usageEvents } from '@gateway/contracts/messages';

const STORES_AT_ONCE = 8;

/** 1,000 input tokens at 3 USD and 200 output tokens at 15 USD per million: 6,000,000 nano-USD. */
export const USAGE = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 200 };
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
export const AMOUNT = (1_000 * 3_000_000_000 + 200 * 15_000_000_000) / 1_000_000;
export const [MODEL, SOURCE, PROVIDER] = ['acme/large', 'source-1', 'provider-1'];

export const accountNames = (accounts) => Array.from({ length: accounts }, (_, index) => `account-${index}`);

/** Stores events of the accounts in turn, `size` per message; a message has events of one group. */
export async function publish(edge, { events, accounts, size }) {
  const byGroup = Array.from({ length: USAGE_GROUPS_TOTAL }, () => []);
  for (const account of accountNames(accounts)) byGroup[usageGroupOfShard(shardOfAccount(account))].push(account);
  const groups = byGroup.flatMap((ofGroup, group) => (ofGroup.length > 0 ? [group] : []));
  const messages = Math.ceil(events / size);
  const places = byGroup.map(() => 0);
  let next = 0;
  const send = async () => {
    while (next < messages) {
      const index = next;
      next += 1;
      const group = groups[index % groups.length];
      const of = byGroup[group];
      const length = Math.min(size, events - index * size);
      const body = { events: Array.from({ length }, () => eventOf(of[places[group]++ % of.length])) };
      await edge.store(usageEvents, { group }, body);
    }
  };
  await Promise.all(Array.from({ length: STORES_AT_ONCE }, send));
}

function eventOf(account) {
  const now = Date.now();
  return {
    id: makeUuidV7(now),
    rank: 2,
    outcome: 'settled',
    hold: {
      account,
      key: `key-of-${account}`,
      member: `member-of-${account}`,
      model: MODEL,
      priceVersion: PRICE.version,
      worstNanoUsd: AMOUNT * 3,
      planMaxNanoUsd: 0,
      walletMaxNanoUsd: null,
      periods: { month: new Date(now).toISOString().slice(0, 7), session5h: null, weekly: null, subscription: null },
      windows: [],
      allotment: null,
      admittedAt: now,
    },
    endpoint: '/v1/chat/completions',
    streamed: true,
    startedAt: now,
    endedAt: now + 900,
    firstByteAt: now + 200,
    status: 200,
    source: SOURCE,
    usage: USAGE,
    evidence: 'reported',
    price: PRICE,
    amountNanoUsd: AMOUNT,
    attempts: [
      {
        source: SOURCE,
        provider: PROVIDER,
        outcome: 'completed',
        status: 200,
        possiblyPaid: true,
        usage: USAGE,
        cost: PRICE,
      },
    ],
  };
}
