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
  underWay: 0,
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
  underWay: 0,
  short: false,
};
/**
 * The end of the five-second step that contains `NOW`, plus one minute and the clock difference.
 */
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
  if (plan === null) throw new Error('there is no plan');
  expect(quotaEntry.parse(plan.entry)).toEqual(plan.entry);
  return plan;
}

const spentOf = (requests: number, until = NOW + 1): QuotaEntry['spent'] => [{ until, requests, tokens: 0 }];

test.each<[string, Case, granted: number, more: boolean]>([
  ['a spare of an eighth, to begin with', {}, 10, true],
  ['what is wanted beside it', { own: { wants: { requests: 5, calls: 0 } } }, 15, true],
  ['at most what is left', { spent: spentOf(75), own: { wants: { requests: 9, calls: 0 } } }, 5, false],
  ['nothing of a full source', { spent: spentOf(80) }, 0, false],
  ['nothing when others sent more without a share', { spent: spentOf(90) }, 0, false],
  ['what is too old does not count', { spent: spentOf(80, NOW) }, 10, true],
  ['its part of what is left', { shares: { e2: {} }, own: { wants: { requests: 90, calls: 0 } } }, 40, true],
  [
    'not what others may still send',
    { shares: { e2: { granted: 80, sent: 20 } }, own: { wants: { requests: 90, calls: 0 } } },
    10,
    true,
  ],
  ['no spare while another edge is short', { shares: { e2: { short: true } } }, 0, true],
  ['what it holds beside it counts as its own', { shares: { e1: { granted: 80 } } }, 10, true],
  ['what it has sent stays sent', { shares: { e1: { granted: 30, sent: 20 } }, own: { sent: 25 } }, 35, true],
  ['none where there is no such quota', { quota: { requestsPerMinute: null }, own: { sent: 7 } }, 7, false],
  ['none to one that leaves', { own: { leaves: true, sent: 3 } }, 3, false],
])('planShare() grants requests per minute: %s', (_name, given, granted, more) => {
  const plan = planOf(given);
  expect([plan.granted, plan.more.requests]).toEqual([granted, more]);
});

test.each<[string, Case, calls: number, more: boolean]>([
  ['a spare of an eighth, to begin with', {}, 2, true],
  ['what is wanted beside it', { own: { wants: { requests: 0, calls: 5 } } }, 7, true],
  ['at most what others leave', { shares: { e2: { calls: 12 } }, own: { wants: { requests: 0, calls: 9 } } }, 4, false],
  ['nothing of a full source', { shares: { e2: { calls: 16 } } }, 0, false],
  [
    'its part while another edge is short',
    { shares: { e2: { short: true } }, own: { wants: { requests: 0, calls: 16 } } },
    8,
    false,
  ],
  ['what it has at the source, whatever others hold', { shares: { e2: { calls: 16 } }, own: { running: 3 } }, 3, false],
  ['none where there is no such quota', { quota: { callsAtOnce: null }, own: { running: 3 } }, 3, false],
])('planShare() grants concurrent calls: %s', (_name, given, calls, more) => {
  const plan = planOf(given);
  expect([plan.calls, plan.more.calls]).toEqual([calls, more]);
});

test.each<[string, Case, QuotaEntry['spent']]>([
  ['what was sent since the last renewal', { shares: { e1: { sent: 5 } }, own: { sent: 7 } }, spentOf(2, COUNTS_UNTIL)],
  ['in its step', { spent: spentOf(4, COUNTS_UNTIL), own: { sent: 7 } }, spentOf(11, COUNTS_UNTIL)],
  ['beside other steps', { spent: spentOf(4), own: { sent: 7 } }, [...spentOf(4), ...spentOf(7, COUNTS_UNTIL)]],
  ['nothing twice when its share has ended', { own: { sent: 7, counted: { requests: 9, tokens: 0 } } }, []],
  [
    'of a share that ended, all that it allowed',
    { shares: { e2: { until: NOW - CLOCKS_DIFFER_MS_MAX, granted: 9, sent: 4 } } },
    spentOf(5, COUNTS_UNTIL),
  ],
  ['nothing of one that may still be used', { shares: { e2: { until: NOW - 999, granted: 9, sent: 4 } } }, []],
  [
    'tokens of calls that have ended',
    { shares: { e1: { tokens: 50 } }, own: { tokens: 70, underWay: 9 } },
    [{ until: COUNTS_UNTIL, requests: 0, tokens: 20 }],
  ],
])('planShare() counts usage: %s', (_name, given, spent) => {
  expect(planOf(given).entry.spent).toEqual(spent);
});

test('planShare() renews a share, drops expired ones and removes one that is returned', () => {
  const shares = { e1: {}, gone: { until: NOW - CLOCKS_DIFFER_MS_MAX, calls: 16 }, e2: { calls: 3 } };
  const own = { sent: 4, tokens: 5, running: 1, underWay: 6, short: true };
  const { entry } = planOf({ shares, own });
  const renewed = { until: NOW + SHARE_MS, granted: 9, calls: 1, ...own };
  expect(entry.shares).toEqual({ e2: { ...SHARE, calls: 3 }, e1: renewed });
  expect(Object.keys(planOf({ shares, own: { leaves: true } }).entry.shares)).toEqual(['e2']);
});

test('planShare() counts the tokens of all edges, with running inputs of other edges', () => {
  const spent = [{ until: NOW + 1, requests: 1, tokens: 100 }];
  const plan = planOf({ spent, shares: { e2: { underWay: 30 } }, own: { tokens: 7, underWay: 5 } });
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
