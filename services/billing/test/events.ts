import { createHash } from 'node:crypto';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { formatPackedEvent, usageEvents } from '@gateway/contracts/messages';
import type { HoldFields, PricedVersion, UsageEvent, WireTokenUsage } from '@gateway/contracts/messages';
import { monthOf, weekStart } from '@gateway/metering';
import { buildReceivedEvent } from '../src/usage/read/read-deliveries.js';
import type { ReceivedEvent } from '../src/usage/rules.js';

export const START = Date.UTC(2026, 10, 20, 12);

/** One nano-USD per token, input and output: the amount equals the number of tokens. */
export const PLAIN_PRICE: PricedVersion = {
  version: 'p1',
  figures: {
    inputPerMillion: 1_000_000,
    cachedInputPerMillion: null,
    cacheWritePerMillion: null,
    cacheWrite1hPerMillion: null,
    outputPerMillion: 1_000_000,
    perCall: 0,
    tiers: [],
  },
};

export const PERIOD = { id: 'sub-1', start: START - 86_400_000, end: START + 86_400_000 };

export function createHold(account: string, changes: Partial<HoldFields> = {}): HoldFields {
  return {
    account,
    key: `key-${account}`,
    member: `member-${account}`,
    model: 'acme/one',
    priceVersion: PLAIN_PRICE.version,
    worstNanoUsd: 10_000,
    planMaxNanoUsd: 0,
    walletMaxNanoUsd: null,
    periods: { month: monthOf(START), session5h: null, weekly: null, subscription: null },
    windows: [],
    allotment: null,
    admittedAt: START,
    ...changes,
  };
}

/**
 * Returns the hold of a plan-funded call: all three windows in USD, a weekly one in requests, and
 * an allotment of requests.
 */
export function createPlanHold(account: string, planMax: number, walletMax: number): HoldFields {
  return createHold(account, {
    planMaxNanoUsd: planMax,
    walletMaxNanoUsd: walletMax,
    periods: { month: monthOf(START), session5h: START - 60_000, weekly: weekStart(START), subscription: PERIOD },
    windows: [
      { type: 'session_5h', unit: 'usd' },
      { type: 'weekly', unit: 'usd' },
      { type: 'weekly', unit: 'requests' },
      { type: 'monthly', unit: 'usd' },
    ],
    allotment: 'requests',
  });
}

export function tokens(input: number, output = 0): WireTokenUsage {
  return { input, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output };
}

/** Returns a settled call that costs `amount` nano-USD. */
export function createSettledEvent(hold: HoldFields, amount: number, changes: Partial<UsageEvent> = {}): UsageEvent {
  return {
    id: makeUuidV7(START),
    rank: 2,
    outcome: 'settled',
    hold,
    endpoint: '/v1/chat/completions',
    streamed: false,
    startedAt: START,
    endedAt: START + 1_000,
    firstByteAt: START + 500,
    status: 200,
    source: 'source-1',
    usage: tokens(amount),
    evidence: 'reported',
    price: PLAIN_PRICE,
    amountNanoUsd: amount,
    attempts: [
      {
        source: 'source-1',
        provider: 'provider-1',
        outcome: 'completed',
        status: 200,
        possiblyPaid: true,
        usage: tokens(amount),
        cost: PLAIN_PRICE,
      },
    ],
    ...changes,
  };
}

export function toVoidedEvent(event: UsageEvent): UsageEvent {
  return { ...event, outcome: 'voided', usage: null, evidence: 'none', amountNanoUsd: 0, status: 502, attempts: [] };
}

/** Returns the sweep's event for the same call. */
export function toExpiredEvent(event: UsageEvent): UsageEvent {
  return {
    ...event,
    rank: 1,
    outcome: 'expired',
    usage: null,
    evidence: 'none',
    price: null,
    amountNanoUsd: 0,
    status: null,
    source: null,
    firstByteAt: null,
    attempts: [],
  };
}

export function toReceivedEvents(...events: UsageEvent[]): ReceivedEvent[] {
  return events.map((event) => {
    return buildReceivedEvent(event, JSON.parse(formatPackedEvent(event)), { subject: 0, sequence: 1 });
  });
}

/** Returns a message of the stream. Values that cannot be packed are included as they are. */
export function packMessage(events: readonly unknown[]): Uint8Array {
  const texts = events.map((event) => {
    try {
      return formatPackedEvent(event as UsageEvent);
    } catch {
      return JSON.stringify(event);
    }
  });
  return Buffer.from(`[${usageEvents.version},[${texts.join(',')}]]`, 'utf8');
}

/** Returns random numbers in [0, 1) that depend only on the seed. */
export function seededRandom(seed: number): () => number {
  let counter = 0;
  return () => {
    counter += 1;
    return createHash('sha256').update(`${seed}/${counter}`).digest().readUInt32BE(0) / 2 ** 32;
  };
}
