import type { QuotaUse, SourceQuota } from '@gateway/contracts/operator';
import { SHARE_MS, type OwnUse, type SharePlan } from './share-rules.js';

/** A share covers the expected need of this time, computed from the recent rate. */
const AHEAD_MS = 4_000;
/** Shortest time over which a rate is measured. */
const PACE_MS_MIN = 500;
/** An edge that sends nothing to a source for this time returns its share. */
export const IDLE_MS = 10_000;

/** The quota that has no share left; `unknown` if the edge holds no share at all. */
export const LACKS = ['requests', 'calls', 'tokens', 'unknown'] as const;
export type MissingQuota = (typeof LACKS)[number];

/**
 * The share that an edge holds of one source's quotas, and its use. The usable amount grows only
 * when a plan is known to be stored, and shrinks before a plan is sent. So if the result of a write
 * is unknown, the edge uses no more than the stored entry allows. All times are monotonic.
 */
export class HeldShare {
  quota: SourceQuota;
  #sent = 0;
  #granted = 0;
  #running = 0;
  #calls = 0;
  #tokens = 0;
  #runningTokens = 0;
  #endsAtMs = -Infinity;
  #counted = { requests: 0, tokens: 0 };
  /** Tokens in the last stored plan, including this edge's calls that had ended. */
  #tokensUsed = 0;
  #more = { requests: true, calls: true };
  #use: QuotaUse | null = null;
  #edges = 1;
  /** Counted since the last stored plan. */
  #asked = 0;
  #callsWanted = 0;
  #short = false;
  #since: number;
  #usedAtMs: number;

  constructor(quota: SourceQuota, nowMs: number) {
    this.quota = quota;
    this.#since = nowMs;
    this.#usedAtMs = nowMs;
  }

  /** Use by all edges as last read, or null before the first read. */
  get use(): QuotaUse | null {
    return this.#use;
  }

  /** Number of edges that hold shares, as last read. */
  get edges(): number {
    return this.#edges;
  }

  /** Returns whether no call is at the source and none was within {@link IDLE_MS}. */
  isIdle(nowMs: number): boolean {
    return this.#running === 0 && nowMs - this.#usedAtMs >= IDLE_MS;
  }

  get running(): number {
    return this.#running;
  }

  /** Whether more than half of the share is used and the source has more to give. */
  get runsLow(): boolean {
    const { requestsPerMinute, callsAtOnce } = this.quota;
    const { requests, calls } = this.#more;
    if (requestsPerMinute !== null && requests && this.#granted - this.#sent < this.#asked) return true;
    return callsAtOnce !== null && calls && this.#calls - this.#running < this.#running;
  }

  /** Returns whether nothing was sent since `own` was taken, and no call is at the source. */
  isUnusedSince({ sent }: OwnUse): boolean {
    return this.#running === 0 && this.#sent === sent;
  }

  /** Returns the quota that is used up, or null if a call may be sent. */
  lack(nowMs: number): MissingQuota | null {
    const { requestsPerMinute, callsAtOnce, tokensPerMinute } = this.quota;
    if (nowMs >= this.#endsAtMs) return 'unknown';
    if (requestsPerMinute !== null && this.#sent >= this.#granted) return 'requests';
    if (callsAtOnce !== null && this.#running >= this.#calls) return 'calls';
    const tokens = this.#tokensUsed + this.#tokens - this.#counted.tokens + this.#runningTokens;
    return tokensPerMinute !== null && tokens >= tokensPerMinute ? 'tokens' : null;
  }

  /** Whether a larger share may be available: the source is not known to be full. */
  mayGetMore(lack: MissingQuota): boolean {
    return lack === 'unknown' || (lack !== 'tokens' && this.#more[lack]);
  }

  /** Records a call without a share. */
  denied(nowMs: number): void {
    this.#usedAtMs = nowMs;
    this.#asked += 1;
    this.#callsWanted = Math.max(this.#callsWanted, this.#running) + 1;
    this.#short = true;
  }

  /** Records the start of a request, with its estimated input tokens, also without a share. */
  begun(tokens: number, nowMs: number): void {
    this.#usedAtMs = nowMs;
    this.#asked += 1;
    this.#sent += 1;
    this.#running += 1;
    this.#callsWanted = Math.max(this.#callsWanted, this.#running);
    this.#runningTokens += tokens;
  }

  /** Replaces the estimated input tokens of a call by the tokens that it used. */
  counted(estimated: number, tokens: number): void {
    this.#runningTokens -= estimated;
    this.#tokens += tokens;
  }

  /** Records that a call is no longer at the source. */
  ended(nowMs: number): void {
    this.#running -= 1;
    this.#usedAtMs = nowMs;
  }

  ownUse(edge: string, leaves: boolean, nowMs: number): OwnUse {
    const paceMs = Math.max(PACE_MS_MIN, nowMs - this.#since);
    return {
      edge,
      sent: this.#sent,
      tokens: this.#tokens,
      running: this.#running,
      runningTokens: this.#runningTokens,
      counted: this.#counted,
      short: this.#short,
      wants: { requests: Math.ceil((this.#asked * AHEAD_MS) / paceMs), calls: this.#callsWanted },
      leaves,
    };
  }

  /** Applies the reductions of a plan before it is sent. */
  sending({ granted, calls }: SharePlan): void {
    this.#granted = Math.min(this.#granted, granted);
    this.#calls = Math.min(this.#calls, calls);
  }

  /** Applies a stored plan, computed from `own` at `plannedAtMs`. */
  stored({ granted, calls, more, tokensUsed, edges, use }: SharePlan, own: OwnUse, plannedAtMs: number): void {
    this.#granted = granted;
    this.#calls = calls;
    this.#more = { ...more };
    this.#tokensUsed = tokensUsed;
    this.#use = use;
    this.#edges = edges;
    // When a share expires, everything that it granted counts as sent.
    this.#counted = { requests: granted, tokens: own.tokens };
    this.#endsAtMs = own.leaves ? -Infinity : plannedAtMs + SHARE_MS;
    this.#asked = 0;
    this.#callsWanted = this.#running;
    this.#short = false;
    this.#since = plannedAtMs;
  }
}
