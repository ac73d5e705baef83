import { QUOTA_SHARES_MAX, type QuotaEntry, type QuotaShare } from '@gateway/contracts/messages';
import type { QuotaUse, SourceQuota } from '@gateway/contracts/operator';

/** A share expires this long after it was granted or renewed. */
export const SHARE_MS = 10_000;
/** Largest difference between the clocks of two edges. All edges follow the limit store's clock. */
export const CLOCKS_DIFFER_MS_MAX = 1_000;
const MINUTE_MS = 60_000;
/** Use is counted in steps of this length. It counts for up to one step longer than a minute. */
const SPENT_STEP_MS = 5_000;
/** One part in this many of a quota is what all edges together may hold ahead of need. */
const SPARE_PART = 8;

/** The use of a source by an edge, and the share that the edge wants. */
export interface OwnUse {
  readonly edge: string;
  /** Counted from the edge's start, as in {@link QuotaShare}. */
  readonly sent: number;
  readonly tokens: number;
  readonly running: number;
  readonly runningTokens: number;
  /** The counted amounts of `sent` and `tokens`, for an entry without a share of this edge. */
  readonly counted: { readonly requests: number; readonly tokens: number };
  readonly short: boolean;
  /** The expected need until the next renewal. A spare is added. */
  readonly wants: { readonly requests: number; readonly calls: number };
  /** Whether the edge stops using the source. It then has no call there. */
  readonly leaves: boolean;
}

/** The entry to write. It is valid only if it replaces the entry that it was computed from. */
export interface SharePlan {
  readonly entry: QuotaEntry;
  /** At least the requests sent by the edge, and its calls at the source. */
  readonly granted: number;
  readonly calls: number;
  /** Whether the source has more to give than this share. */
  readonly more: { readonly requests: boolean; readonly calls: boolean };
  /** All counted tokens, including this edge's until now, but without its running calls. */
  readonly tokensUsed: number;
  /** Number of edges that hold shares, including this one. */
  readonly edges: number;
  readonly use: QuotaUse;
}

/**
 * Counts the edge's use, takes back expired shares, and grants the edge a share of the remaining
 * quota. In any 60 seconds the shares of all edges allow at most the quota's requests, and at any
 * time at most its concurrent calls, if clocks differ by at most {@link CLOCKS_DIFFER_MS_MAX}. A
 * request counts from its grant until one minute after it was reported. An unreported one counts
 * until one minute after its share was found expired. Requests sent without a share count too.
 * @param before null if there is no entry
 * @returns null if the entry already has the maximum number of edges
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
  const tokensUsed = sumOf(spent, (each) => each.tokens) + sumOf(holders, (each) => each.runningTokens);
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
  const { sent, running, runningTokens, short } = own;
  const renewed: QuotaShare = {
    until: nowMs + SHARE_MS,
    granted,
    sent,
    calls,
    running,
    tokens: own.tokens,
    runningTokens,
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
      tokensPerMinute: used(tokensUsed + own.runningTokens, quota.tokensPerMinute),
    },
  };
}

/** Returns the unreported requests of an expired share. Each may have been sent. */
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

interface GrantContext {
  readonly own: OwnUse;
  readonly holders: readonly QuotaShare[];
  /** Whether another edge had no share for a call. */
  readonly isLonger: boolean;
}

interface GrantInput {
  /** The amount that is used, or held by other edges. */
  readonly held: number;
  readonly wanted: number;
  /** Whether used amounts become free again after a minute. */
  readonly isRate: boolean;
}

/**
 * Grants a part, and leaves other edges enough. Of the remaining requests of a minute, an edge gets
 * at most an equal part. Of the concurrent calls, it gets at most an equal part while another edge
 * has too few.
 */
function grant(
  { own, holders, isLonger }: GrantContext,
  quota: number | null,
  { held, wanted, isRate }: GrantInput,
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
