import { expect, test } from '@jest/globals';
import { QUOTA_SHARES_MAX, quotaEntry, type QuotaEntry, type QuotaShare } from '@gateway/contracts/messages';
import type { SourceQuota } from '@gateway/contracts/operator';
import { CLOCKS_DIFFER_MS_MAX, planShare, SHARE_MS, type OwnUse, type SharePlan } from './share-rules.js';

const NOW = 1_000_000_000;
const QUOTA: SourceQuota = { requestsPerMinute: 80, callsAtOnce: 16, tokensPerMinute: 1_000 };
const NOTHING: OwnUse = {
  edge: 'e1',
  sent: 0,
  tokens: 0,
  running: 0,
  runningTokens: 0,
  counted: { requests: 0, tokens: 0 },
  short: false,
  wants: { requests: 0, calls: 0 },
  leaves: false,
};
const SHARE: QuotaShare = {
  until: NOW + 1,
  granted: 0,
  sent: 0,
  calls: 0,
  running: 0,
  tokens: 0,
  runningTokens: 0,
  short: false,
};
/** The end of the step that contains `NOW`, plus a minute and the clock difference. */
const COUNTS_UNTIL = NOW + 5_000 + 60_000 + CLOCKS_DIFFER_MS_MAX;

interface Case {
  readonly spent?: QuotaEntry['spent'];
  readonly shares?: Record<string, Partial<QuotaShare>>;
  readonly own?: Partial<OwnUse>;
  readonly quota?: Partial<SourceQuota>;
}

function planOf({ spent = [], shares = {}, own = {}, quota = {} }: Case): SharePlan {
  const all = Object.fromEntries(Object.entries(shares).map(([edge, share]) => [edge, { ...SHARE, ...share }]));
  const plan = planShare({ v: 1, spent, shares: all }, { ...NOTHING, ...own }, { ...QUOTA, ...quota }, NOW);
  if (plan === null) throw new Error('planShare() returned null');
  expect(quotaEntry.parse(plan.entry)).toEqual(plan.entry);
  return plan;
}

const spentOf = (requests: number, until = NOW + 1): QuotaEntry['spent'] => [{ until, requests, tokens: 0 }];

test.each<[string, Case, granted: number, more: boolean]>([
  ['at first a spare of an eighth', {}, 10, true],
  ['the wanted amount in addition to the spare', { own: { wants: { requests: 5, calls: 0 } } }, 15, true],
  ['at most the remaining requests', { spent: spentOf(75), own: { wants: { requests: 9, calls: 0 } } }, 5, false],
  ['none of a full source', { spent: spentOf(80) }, 0, false],
  ['none when other edges exceeded the quota', { spent: spentOf(90) }, 0, false],
  ['ignores use older than a minute', { spent: spentOf(80, NOW) }, 10, true],
  ['its part of the remaining requests', { shares: { e2: {} }, own: { wants: { requests: 90, calls: 0 } } }, 40, true],
  [
    'none that other edges may still send',
    { shares: { e2: { granted: 80, sent: 20 } }, own: { wants: { requests: 90, calls: 0 } } },
    10,
    true,
  ],
  ['no spare while another edge has no share', { shares: { e2: { short: true } } }, 0, true],
  ['counts the share that the edge already holds as its own', { shares: { e1: { granted: 80 } } }, 10, true],
  ['keeps requests already sent', { shares: { e1: { granted: 30, sent: 20 } }, own: { sent: 25 } }, 35, true],
  ['none without this quota', { quota: { requestsPerMinute: null }, own: { sent: 7 } }, 7, false],
  ['none to an edge that returns its share', { own: { leaves: true, sent: 3 } }, 3, false],
])('planShare() grants requests per minute: %s', (_name, given, granted, more) => {
  const plan = planOf(given);
  expect([plan.granted, plan.more.requests]).toEqual([granted, more]);
});

test.each<[string, Case, calls: number, more: boolean]>([
  ['at first a spare of an eighth', {}, 2, true],
  ['the wanted amount in addition to the spare', { own: { wants: { requests: 0, calls: 5 } } }, 7, true],
  [
    'at most the remaining calls',
    { shares: { e2: { calls: 12 } }, own: { wants: { requests: 0, calls: 9 } } },
    4,
    false,
  ],
  ['none of a full source', { shares: { e2: { calls: 16 } } }, 0, false],
  [
    'an equal part while another edge has no share',
    { shares: { e2: { short: true } }, own: { wants: { requests: 0, calls: 16 } } },
    8,
    false,
  ],
  ['at least its calls at the source', { shares: { e2: { calls: 16 } }, own: { running: 3 } }, 3, false],
  ['none without this quota', { quota: { callsAtOnce: null }, own: { running: 3 } }, 3, false],
])('planShare() grants concurrent calls: %s', (_name, given, calls, more) => {
  const plan = planOf(given);
  expect([plan.calls, plan.more.calls]).toEqual([calls, more]);
});

test.each<[string, Case, QuotaEntry['spent']]>([
  ['requests sent since the last renewal', { shares: { e1: { sent: 5 } }, own: { sent: 7 } }, spentOf(2, COUNTS_UNTIL)],
  ['in the same step', { spent: spentOf(4, COUNTS_UNTIL), own: { sent: 7 } }, spentOf(11, COUNTS_UNTIL)],
  ['in addition to other steps', { spent: spentOf(4), own: { sent: 7 } }, [...spentOf(4), ...spentOf(7, COUNTS_UNTIL)]],
  ['nothing twice after its share has expired', { own: { sent: 7, counted: { requests: 9, tokens: 0 } } }, []],
  [
    'all requests that an expired share allowed',
    { shares: { e2: { until: NOW - CLOCKS_DIFFER_MS_MAX, granted: 9, sent: 4 } } },
    spentOf(5, COUNTS_UNTIL),
  ],
  ['nothing of a share that may still be used', { shares: { e2: { until: NOW - 999, granted: 9, sent: 4 } } }, []],
  [
    'tokens of ended calls',
    { shares: { e1: { tokens: 50 } }, own: { tokens: 70, runningTokens: 9 } },
    [{ until: COUNTS_UNTIL, requests: 0, tokens: 20 }],
  ],
])('planShare() counts usage: %s', (_name, given, spent) => {
  expect(planOf(given).entry.spent).toEqual(spent);
});

test('planShare() renews a share, drops expired ones and removes one that is returned', () => {
  const shares = { e1: {}, gone: { until: NOW - CLOCKS_DIFFER_MS_MAX, calls: 16 }, e2: { calls: 3 } };
  const own = { sent: 4, tokens: 5, running: 1, runningTokens: 6, short: true };
  const { entry } = planOf({ shares, own });
  const renewed = { until: NOW + SHARE_MS, granted: 9, calls: 1, ...own };
  expect(entry.shares).toEqual({ e2: { ...SHARE, calls: 3 }, e1: renewed });
  expect(Object.keys(planOf({ shares, own: { leaves: true } }).entry.shares)).toEqual(['e2']);
});

test('planShare() counts the tokens of all edges, with running inputs of other edges', () => {
  const spent = [{ until: NOW + 1, requests: 1, tokens: 100 }];
  const plan = planOf({ spent, shares: { e2: { runningTokens: 30 } }, own: { tokens: 7, runningTokens: 5 } });
  expect(plan.tokensUsed).toBe(137);
  expect(plan.use).toEqual({
    requestsPerMinute: { used: 1, allowed: 80 },
    callsAtOnce: { used: 0, allowed: 16 },
    tokensPerMinute: { used: 142, allowed: 1_000 },
  });
});

test('planShare() accepts a limited number of edges', () => {
  const shares = Object.fromEntries(Array.from({ length: QUOTA_SHARES_MAX }, (_, at) => [`f${at}`, SHARE]));
  expect(planShare({ v: 1, spent: [], shares }, NOTHING, QUOTA, NOW)).toBeNull();
  expect(planShare({ v: 1, spent: [], shares: { ...shares, e1: SHARE } }, NOTHING, QUOTA, NOW)).not.toBeNull();
  const text = JSON.stringify({ v: 1, spent: [], shares });
  expect(text.length).toBeLessThan(64 * 1024);
});
