import { makeUuidV7 } from '@gateway/contracts/ids';
import type { UsageEvent } from '@gateway/contracts/messages';
import { TEST_ACCOUNT, TEST_PRICE } from './fake-admission.js';

/** Returns the usage event of a completed call. */
export function testEvent(more: Partial<UsageEvent> = {}): UsageEvent {
  return {
    id: makeUuidV7(Date.now()),
    rank: 2,
    outcome: 'settled',
    hold: {
      account: TEST_ACCOUNT,
      key: 'k',
      member: 'm',
      model: 'pub/model',
      priceVersion: TEST_PRICE.version,
      worstNanoUsd: 5,
      planMaxNanoUsd: 0,
      walletMaxNanoUsd: null,
      periods: { month: '2026-11', session5h: null, weekly: null, subscription: null },
      windows: [],
      allotment: null,
      admittedAt: 1,
    },
    endpoint: '/v1/chat/completions',
    streamed: false,
    startedAt: 1,
    endedAt: 2,
    firstByteAt: 2,
    status: 200,
    source: 'src',
    usage: { input: 1, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1 },
    evidence: 'reported',
    price: TEST_PRICE,
    amountNanoUsd: 3,
    attempts: [],
    ...more,
  };
}
