import type { Bus } from '@gateway/bus';
import { USAGE_GROUPS_TOTAL, makeUuidV7, shardOfAccount, usageGroupOfShard } from '@gateway/contracts/ids';
import { usageEvents } from '@gateway/contracts/messages';
import { monthOf } from '@gateway/metering';

const STORES_AT_ONCE = 8;
const DAY_MS = 86_400_000;

/** 1,000 input tokens at 3 USD and 200 output tokens at 15 USD per million: 6,000,000 nano-USD. */
const USAGE = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 200 };
const AMOUNT_NANO_USD = 6_000_000;
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
export const MODEL = 'acme/large';
const SOURCE = 'source-1';

/** The account, key, member and model of a call. */
export interface Payer {
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
}

export const listPayers = (accounts: number): Payer[] =>
  Array.from({ length: accounts }, (_, n) => {
    return { account: `account-${n}`, key: `key-${n}`, member: `member-${n}`, model: MODEL };
  });

/** A series of events: `size` per message, of the payers in turn. */
export interface EventSeries {
  readonly events: number;
  readonly payers: readonly Payer[];
  readonly size: number;
  /** The calls are distributed over this number of days before now. Default: all are of now. */
  readonly days?: number;
}

/**
 * Stores usage events like those of an edge: wallet-funded calls with one attempt whose cost is
 * known. A message has events of one group.
 */
export async function publishEvents(edge: Bus, { events, payers, size, days = 0 }: EventSeries): Promise<void> {
  const byGroup = Array.from({ length: USAGE_GROUPS_TOTAL }, (): Payer[] => []);
  for (const payer of payers) byGroup[usageGroupOfShard(shardOfAccount(payer.account))]?.push(payer);
  const groups = byGroup.flatMap((own, group) => (own.length > 0 ? [{ group, own, sent: 0 }] : []));
  const messages = Math.ceil(events / size);
  let next = 0;
  const send = async (): Promise<void> => {
    while (next < messages) {
      const index = next;
      next += 1;
      const group = groups[index % groups.length];
      if (group === undefined) return;
      const body = {
        events: Array.from({ length: Math.min(size, events - index * size) }, (_, at) => {
          const ageMs = days * DAY_MS * (1 - (index * size + at) / events);
          const payer = group.own[group.sent++ % group.own.length] as Payer;
          return createEvent(payer, Math.floor(Date.now() - ageMs));
        }),
      };
      await edge.store(usageEvents, { group: group.group }, body);
    }
  };
  await Promise.all(Array.from({ length: STORES_AT_ONCE }, send));
}

function createEvent(payer: Payer, startedAt: number) {
  return {
    id: makeUuidV7(startedAt),
    rank: 2 as const,
    outcome: 'settled' as const,
    hold: {
      ...payer,
      priceVersion: PRICE.version,
      worstNanoUsd: AMOUNT_NANO_USD * 3,
      planMaxNanoUsd: 0,
      walletMaxNanoUsd: null,
      periods: { month: monthOf(startedAt), session5h: null, weekly: null, subscription: null },
      windows: [],
      allotment: null,
      admittedAt: startedAt,
    },
    endpoint: '/v1/chat/completions' as const,
    streamed: true,
    startedAt,
    endedAt: startedAt + 900,
    firstByteAt: startedAt + 200,
    status: 200,
    source: SOURCE,
    usage: USAGE,
    evidence: 'reported' as const,
    price: PRICE,
    amountNanoUsd: AMOUNT_NANO_USD,
    attempts: [
      {
        source: SOURCE,
        provider: 'provider-1',
        outcome: 'completed' as const,
        status: 200,
        possiblyPaid: true,
        usage: USAGE,
        cost: PRICE,
      },
    ],
  };
}
