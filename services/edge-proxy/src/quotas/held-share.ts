import type { QuotaUse, SourceQuota } from '@gateway/contracts/operator';
import { SHARE_MS, type OwnUse, type SharePlan } from './share-rules.js';

/** A share is asked for so much ahead: the need of so long at the pace of late. */
const AHEAD_MS = 4_000;
/** A pace is measured over at least this long. */
const PACE_MS_MIN = 500;
/** An edge that sends nothing to a source for so long gives its share back. */
export const IDLE_MS = 10_000;

/** Of which quota an edge has no share left; `unknown`: it holds no share at all. */
export const LACKS = ['requests', 'calls', 'tokens', 'unknown'] as const;
export type Lack = (typeof LACKS)[number];

/**
 * The share that an edge holds of one source's quotas, and what it has used of it. What it may use
 * grows only when a plan is known to be stored, and shrinks before one is sent: whatever becomes of
 * a plan that nobody answered for, no more is used than the store allows. All times are monotonic.
 */
export class HeldShare {
  quota: SourceQuota;
  #sent = 0;
  #granted = 0;
  #running = 0;
  #calls = 0;
  #tokens = 0;
  #underWay = 0;
  #endsAtMs = -Infinity;
  #counted = { requests: 0, tokens: 0 };
  /** Tokens of the last stored plan, those of this edge's ended calls until then among them. */
  #tokensUsed = 0;
  #more = { requests: true, calls: true };
  #use: QuotaUse | null = null;
  #edges = 1;
  /** Since the last stored plan. */
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

  /** How much all edges use, as it was last read; null: it was never. */
  get use(): QuotaUse | null {
    return this.#use;
  }

  /** Edges that hold shares, as it was last read. */
  get edges(): number {
    return this.#edges;
  }

  /** No call is at the source, and none was of late. */
  isIdle(nowMs: number): boolean {
    return this.#running === 0 && nowMs - this.#usedAtMs >= IDLE_MS;
  }

  get running(): number {
    return this.#running;
  }

  /** More than half of what it may use is used, and there is more to be had. */
  get runsLow(): boolean {
    const { requestsPerMinute, callsAtOnce } = this.quota;
    const { requests, calls } = this.#more;
    if (requestsPerMinute !== null && requests && this.#granted - this.#sent < this.#asked) return true;
    return callsAtOnce !== null && calls && this.#calls - this.#running < this.#running;
  }

  /** Nothing was sent since then, and no call is at the source. */
  isUnusedSince({ sent }: OwnUse): boolean {
    return this.#running === 0 && this.#sent === sent;
  }

  /** Null: a call may be sent by the share. */
  lack(nowMs: number): Lack | null {
    const { requestsPerMinute, callsAtOnce, tokensPerMinute } = this.quota;
    if (nowMs >= this.#endsAtMs) return 'unknown';
    if (requestsPerMinute !== null && this.#sent >= this.#granted) return 'requests';
    if (callsAtOnce !== null && this.#running >= this.#calls) return 'calls';
    const tokens = this.#tokensUsed + this.#tokens - this.#counted.tokens + this.#underWay;
    return tokensPerMinute !== null && tokens >= tokensPerMinute ? 'tokens' : null;
  }

  /** Whether asking for more may help: the source is not known to be full. */
  mayGetMore(lack: Lack): boolean {
    return lack === 'unknown' || (lack !== 'tokens' && this.#more[lack]);
  }

  /** A call wants to be sent and there is no share for it. */
  denied(nowMs: number): void {
    this.#usedAtMs = nowMs;
    this.#asked += 1;
    this.#callsWanted = Math.max(this.#callsWanted, this.#running) + 1;
    this.#short = true;
  }

  /**
   * A request is sent, also where there is no share for it. @param tokens of its input, estimated
   */
  begun(tokens: number, nowMs: number): void {
    this.#usedAtMs = nowMs;
    this.#asked += 1;
    this.#sent += 1;
    this.#running += 1;
    this.#callsWanted = Math.max(this.#callsWanted, this.#running);
    this.#underWay += tokens;
  }

  /** How many tokens a call used whose input was estimated. */
  counted(estimated: number, tokens: number): void {
    this.#underWay -= estimated;
    this.#tokens += tokens;
  }

  /** The source has no more to do with a call. */
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
      underWay: this.#underWay,
      counted: this.#counted,
      short: this.#short,
      wants: { requests: Math.ceil((this.#asked * AHEAD_MS) / paceMs), calls: this.#callsWanted },
      leaves,
    };
  }

  /** The plan is about to be sent: what it takes away is not used any more. */
  sending({ granted, calls }: SharePlan): void {
    this.#granted = Math.min(this.#granted, granted);
    this.#calls = Math.min(this.#calls, calls);
  }

  /** The plan is stored. @param own of what it was made @param plannedAtMs when that was */
  stored({ granted, calls, more, tokensUsed, edges, use }: SharePlan, own: OwnUse, plannedAtMs: number): void {
    this.#granted = granted;
    this.#calls = calls;
    this.#more = { ...more };
    this.#tokensUsed = tokensUsed;
    this.#use = use;
    this.#edges = edges;
    // Of a share that ends by its time all that was granted counts as sent.
    this.#counted = { requests: granted, tokens: own.tokens };
    this.#endsAtMs = own.leaves ? -Infinity : plannedAtMs + SHARE_MS;
    this.#asked = 0;
    this.#callsWanted = this.#running;
    this.#short = false;
    this.#since = plannedAtMs;
  }
}
