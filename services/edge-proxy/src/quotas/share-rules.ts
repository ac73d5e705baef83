import { QUOTA_SHARES_MAX, type QuotaEntry, type QuotaShare } from '@gateway/contracts/messages';
import type { QuotaUse, SourceQuota } from '@gateway/contracts/operator';

/** A share ends so long after it was granted or renewed. */
export const SHARE_MS = 10_000;
/** The clocks of two edges differ by at most this much: all follow the limit store's. */
export const CLOCKS_DIFFER_MS_MAX = 1_000;
const MINUTE_MS = 60_000;
/** What was used is counted in steps of so long: up to that longer than a minute. */
const SPENT_STEP_MS = 5_000;
/** Of a quota, what edges together may hold ahead of need. */
const SPARE_PART = 8;

/** What an edge has used of a source, and what it would like to hold. */
export interface OwnUse {
  readonly edge: string;
  /** From the edge's start, as in {@link QuotaShare}. */
  readonly sent: number;
  readonly tokens: number;
  readonly running: number;
  readonly underWay: number;
  /** What the entry has counted of `sent` and `tokens` where it has no share of the edge. */
  readonly counted: { readonly requests: number; readonly tokens: number };
  readonly short: boolean;
  /** As many as the edge expects to need until its next renewal; a spare is added. */
  readonly wants: { readonly requests: number; readonly calls: number };
  /** The edge does not use the source any more. None of its calls is there. */
  readonly leaves: boolean;
}

/**
 * An entry as an edge would write it. It holds if it is stored in place of the one it was made of.
 */
export interface SharePlan {
  readonly entry: QuotaEntry;
  /** Of the edge's share. Both are at least what it has sent, and has at the source. */
  readonly granted: number;
  readonly calls: number;
  /** Whether there is more to be had than the share has. */
  readonly more: { readonly requests: boolean; readonly calls: boolean };
  /** All that counts, this edge's until now included, without its calls under way. */
  readonly tokensUsed: number;
  /** Edges that hold shares, this one among them. */
  readonly edges: number;
  readonly use: QuotaUse;
}

/**
 * Counts what the edge has used, takes back shares that have ended, and gives the edge a share of
 * what is left. In no 60 seconds the shares of all edges allow more requests than the quota, at no
 * time more calls at once, as long as clocks differ by no more than {@link CLOCKS_DIFFER_MS_MAX}:
 * a request counts from its grant until a minute after it was reported, unreported ones until a
 * minute after their share was seen to have ended. What was sent without a share counts too.
 * @param before null: there is no entry
 * @returns null: so many edges have a share that the entry takes no further one
 */
export function planShare(before: QuotaEntry | null, own: OwnUse, quota: SourceQuota, nowMs: number): SharePlan | null {
  const present = before?.shares ?? {};
  const share = present[own.edge];
  if (share === undefined && Object.keys(present).length >= QUOTA_SHARES_MAX) return null;
  const others: Record<string, QuotaShare> = {};
  let requests = Math.max(0, own.sent - (share?.sent ?? own.counted.requests));
  for (const [edge, other] of Object.entries(present)) {
    if (edge === own.edge) continue;
    if (other.until + CLOCKS_DIFFER_MS_MAX > nowMs) others[edge] = other;
    else requests += unsent(other);
  }
  const tokens = Math.max(0, own.tokens - (share?.tokens ?? own.counted.tokens));
  const spent = withSpent(before?.spent ?? [], { requests, tokens }, nowMs);
  const holders = Object.values(others);
  const spentRequests = sumOf(spent, (each) => each.requests);
  const tokensUsed = sumOf(spent, (each) => each.tokens) + sumOf(holders, (each) => each.underWay);
  const granting = { own, holders, isLonger: holders.some(({ short }) => short) };
  const ofRequests = grant(granting, quota.requestsPerMinute, {
    held: spentRequests + sumOf(holders, unsent),
    wanted: own.wants.requests,
    isRate: true,
  });
  const ofCalls = grant(granting, quota.callsAtOnce, {
    held: sumOf(holders, ({ calls }) => calls),
    wanted: own.wants.calls,
    isRate: false,
  });
  const granted = own.sent + ofRequests.part;
  const calls = Math.max(own.running, ofCalls.part);
  const { sent, running, underWay, short } = own;
  const renewed: QuotaShare = {
    until: nowMs + SHARE_MS,
    granted,
    sent,
    calls,
    running,
    tokens: own.tokens,
    underWay,
    short,
  };
  return {
    entry: { v: 1, spent, shares: own.leaves ? others : { ...others, [own.edge]: renewed } },
    granted,
    calls,
    more: { requests: ofRequests.isMore, calls: ofCalls.isMore },
    tokensUsed,
    edges: holders.length + 1,
    use: {
      requestsPerMinute: used(spentRequests, quota.requestsPerMinute),
      callsAtOnce: used(own.running + sumOf(holders, (each) => each.running), quota.callsAtOnce),
      tokensPerMinute: used(tokensUsed + own.underWay, quota.tokensPerMinute),
    },
  };
}

/** Of a share that ended, each request that it allowed may have been sent. */
function unsent({ granted, sent }: QuotaShare): number {
  return Math.max(0, granted - sent);
}

type Spent = QuotaEntry['spent'];

function withSpent(before: Spent, more: Omit<Spent[number], 'until'>, nowMs: number): Spent {
  const spent = before.filter(({ until }) => until > nowMs).map((each) => ({ ...each }));
  if (more.requests === 0 && more.tokens === 0) return spent;
  const stepEnd = Math.floor(nowMs / SPENT_STEP_MS + 1) * SPENT_STEP_MS;
  const until = stepEnd + MINUTE_MS + CLOCKS_DIFFER_MS_MAX;
  const same = spent.find((each) => each.until === until);
  if (same === undefined) return [...spent, { until, ...more }].sort((a, b) => a.until - b.until);
  same.requests += more.requests;
  same.tokens += more.tokens;
  return spent;
}

interface Granting {
  readonly own: OwnUse;
  readonly holders: readonly QuotaShare[];
  /** Another edge found no share for a call. */
  readonly isLonger: boolean;
}

interface Asked {
  /** Used, or held by others. */
  readonly held: number;
  readonly wanted: number;
  /** What is used comes back by itself after a minute. */
  readonly isRate: boolean;
}

/**
 * What others cannot do without is left to them: of what a minute has left an edge takes at most
 * its
 * part, and of calls at once no more than its part while another edge is short of them.
 */
function grant(
  { own, holders, isLonger }: Granting,
  quota: number | null,
  { held, wanted, isRate }: Asked,
): { part: number; isMore: boolean } {
  if (quota === null || own.leaves) return { part: 0, isMore: false };
  const edges = holders.length + 1;
  const free = Math.max(0, quota - held);
  const fair = isRate ? Math.ceil(free / edges) : isLonger ? Math.ceil(quota / edges) : free;
  const limit = Math.min(free, fair);
  const spare = isLonger ? 0 : Math.max(1, Math.floor(quota / (SPARE_PART * edges)));
  const part = Math.min(limit, wanted + spare);
  return { part, isMore: (isRate ? free : limit) > part };
}

function used(amount: number, allowed: number | null): QuotaUse['callsAtOnce'] {
  return allowed === null ? null : { used: amount, allowed };
}

function sumOf<T>(all: readonly T[], amount: (each: T) => number): number {
  return all.reduce((sum, each) => sum + amount(each), 0);
}
