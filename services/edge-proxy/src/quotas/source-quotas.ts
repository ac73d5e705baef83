import { quotaEntry, type CatalogSource, type QuotaEntry } from '@gateway/contracts/messages';
import type { QuotaUse, SourceQuota } from '@gateway/contracts/operator';
import { OnDemandTimer, type Clock, type TimerClock } from '@gateway/service-kit';
import type { Deadlines } from '../call/deadlines.js';
import type { BusClient } from '../ports.js';
import { HeldShare, type MissingQuota } from './held-share.js';
import { planShare } from './share-rules.js';

/** An edge holds shares of at most this many sources at one time. Further sources count as full. */
export const QUOTA_SOURCES_MAX = 1_000;
/** Time between renewals of a share. A share that is used up earlier is renewed immediately. */
export const RENEW_MS = 2_000;
/** Time until the next attempt after a failed renewal. */
const RENEW_AGAIN_MS = 500;
/** Longest wait of a call for a share, if the source is not known to be full. */
export const SHARE_WAIT_MS = 300;
/** A running renewal may not include a new call, so the call waits for a second one. */
const WAITS_MAX = 2;
/** Time without waiting calls after an exchange failed or was late. */
const PAUSE_MS = 1_000;
const RENEW_CHECK_MS = 250;
/** Most renewals at one time. */
const RENEWALS_MAX = 64;
/** Time between the renewals of two edges of one source when both run low, and its maximum. */
const APART_MS = 20;
const APART_MS_MAX = 200;
/** Attempts to update an entry that other edges update too, and the pause before each. */
const TRIES_MAX = 5;
const TRY_PAUSE_MS_MAX = 50;

export interface SourceQuotasParts {
  readonly edge: string;
  readonly store: Pick<BusClient, 'readQuota' | 'replaceQuota'>;
  readonly deadlines: Pick<Deadlines, 'in' | 'nowMs'>;
  /** Admission's clock, which all edges follow. */
  readonly clock: Clock;
  readonly random: () => number;
  /** For renewals and for the wait for a share. */
  readonly timers: TimerClock;
  /** @param reason `late`, `contended`, or the code of the fault */
  readonly onFailed: (reason: string) => void;
  readonly onOverQuota: (source: string, lack: MissingQuota) => void;
}

/** One call at a source. Both functions are called once per call. */
export interface Permit {
  /** Whether the call was sent without a share because no other source was left. */
  readonly isOverQuota: boolean;
  /** @param tokens input and output tokens, reported or estimated */
  readonly counted: (tokens: number) => void;
  /** Reports that the call is no longer at the source. */
  readonly ended: () => void;
}

export const NO_PERMIT: Permit = { isOverQuota: false, counted: () => undefined, ended: () => undefined };

/** The source to try next. */
export interface SourceChoice {
  readonly at: number;
  readonly permit: Permit;
}

interface Held {
  readonly share: HeldShare;
  renewedAtMs: number;
  renewing: Promise<void> | null;
}

/**
 * The shares that this edge holds of source quotas
 * (docs/decisions/0096-quotas-of-sources-are-leased.md). For sources without quotas, and sources
 * without calls, nothing is stored, sent or awaited.
 */
export class SourceQuotas {
  readonly #parts: SourceQuotasParts;
  readonly #held = new Map<string, Held>();
  readonly #timers: TimerClock;
  readonly #timer: OnDemandTimer;
  #renewals = 0;
  #pausedUntilMs = -Infinity;
  #isStopping = false;

  constructor(parts: SourceQuotasParts) {
    this.#parts = parts;
    this.#timers = parts.timers;
    const waits = (): boolean => this.#held.size > 0;
    this.#timer = new OnDemandTimer(RENEW_CHECK_MS, waits, () => this.renewDue(), this.#timers);
  }

  /** Number of sources with a share of this edge. */
  get size(): number {
    return this.#held.size;
  }

  /** Use by all edges, per source. */
  *uses(): Iterable<readonly [source: string, use: QuotaUse]> {
    for (const [source, { share }] of this.#held) if (share.use !== null) yield [source, share.use];
  }

  useOf(source: string): QuotaUse | null {
    return this.#held.get(source)?.share.use ?? null;
  }

  /**
   * Returns the first source that may receive a call, or the first of all if every source is full.
   * A full source is tried last, but never left out. Waits at most {@link SHARE_WAIT_MS} for each
   * source that is not known to be full.
   * @param sources at least one, in the order of attempts
   * @param tokensOf returns the estimated input tokens, for a source with a token quota
   */
  async next(sources: readonly CatalogSource[], tokensOf: () => number): Promise<SourceChoice> {
    for (const [at, source] of sources.entries()) {
      if (source.quota === undefined) return { at, permit: NO_PERMIT };
      const permit = await this.#permitOf(source.id, source.quota, tokensOf);
      if (permit !== null) return { at, permit };
    }
    return { at: 0, permit: this.#permitOverQuota(sources[0], tokensOf) };
  }

  /**
   * Renews shares that are old or nearly used, and all at stop. Called every
   * {@link RENEW_CHECK_MS} while shares are held.
   */
  renewDue(): void {
    const nowMs = this.#nowMs();
    const isDue = ({ share, renewedAtMs, renewing }: Held): boolean =>
      renewing === null &&
      (this.#isStopping || (share.runsLow && nowMs >= this.#pausedUntilMs) || nowMs - renewedAtMs >= RENEW_MS);
    const due = [...this.#held].filter(([, held]) => isDue(held));
    due.sort(([, one], [, other]) => one.renewedAtMs - other.renewedAtMs);
    for (const [source, held] of due) {
      if (this.#renewals >= RENEWALS_MAX) return;
      void this.#renew(source, held);
    }
  }

  /** Returns all shares as soon as their calls have ended; {@link size} falls to 0. */
  stop(): void {
    this.#isStopping = true;
    this.renewDue();
  }

  #of(source: string, quota: SourceQuota): Held | null {
    const known = this.#held.get(source);
    if (known !== undefined) {
      known.share.quota = quota;
      return known;
    }
    if (this.#held.size >= QUOTA_SOURCES_MAX) return null;
    const nowMs = this.#nowMs();
    const held: Held = { share: new HeldShare(quota, nowMs), renewedAtMs: nowMs, renewing: null };
    this.#held.set(source, held);
    this.#timer.begin();
    return held;
  }

  /** Returns null if there is no share for the call. Checks and takes a permit in the same tick. */
  async #permitOf(source: string, quota: SourceQuota, tokensOf: () => number): Promise<Permit | null> {
    for (let wait = 0; ; wait += 1) {
      const held = this.#of(source, quota);
      const lack = held?.share.lack(this.#nowMs());
      if (held === null || lack === undefined) return null;
      if (lack === null) return this.#createPermit(held, tokensOf, false);
      if (wait === 0) held.share.denied(this.#nowMs());
      const mayWait = wait < WAITS_MAX && this.#nowMs() >= this.#pausedUntilMs;
      if (!mayWait || !held.share.mayGetMore(lack)) return null;
      await this.#within(this.#timers.timeoutMs(SHARE_WAIT_MS), this.#renew(source, held));
    }
  }

  #permitOverQuota(source: CatalogSource | undefined, tokensOf: () => number): Permit {
    if (source?.quota === undefined) return NO_PERMIT;
    const held = this.#of(source.id, source.quota);
    this.#parts.onOverQuota(source.id, held?.share.lack(this.#nowMs()) ?? 'unknown');
    return held === null ? { ...NO_PERMIT, isOverQuota: true } : this.#createPermit(held, tokensOf, true);
  }

  #createPermit({ share }: Held, tokensOf: () => number, isOverQuota: boolean): Permit {
    const estimated = share.quota.tokensPerMinute === null ? 0 : tokensOf();
    share.begun(estimated, this.#nowMs());
    return {
      isOverQuota,
      counted: (tokens) => share.counted(estimated, tokens),
      ended: () => share.ended(this.#nowMs()),
    };
  }

  /** Never rejects. Runs once at a time per source. */
  #renew(source: string, held: Held): Promise<void> {
    held.renewing ??= this.#renewOnce(source, held);
    return held.renewing;
  }

  async #renewOnce(source: string, held: Held): Promise<void> {
    this.#renewals += 1;
    const apartMs = Math.min(APART_MS * (held.share.edges - 1), APART_MS_MAX);
    try {
      await this.#pause(held.renewedAtMs + apartMs - this.#nowMs());
      const isRenewed = await this.#exchange(source, held);
      if (!isRenewed) this.#failed('contended');
      held.renewedAtMs = this.#nowMs() - (isRenewed ? 0 : RENEW_MS - RENEW_AGAIN_MS);
    } catch (error) {
      this.#failed((error as { readonly code?: string }).code ?? 'fault');
      held.renewedAtMs = this.#nowMs() - RENEW_MS + RENEW_AGAIN_MS;
    } finally {
      this.#renewals -= 1;
      held.renewing = null;
    }
  }

  /** Returns false if other edges updated the entry at every attempt. */
  async #exchange(source: string, held: Held): Promise<boolean> {
    const { edge, store, clock, random } = this.#parts;
    for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
      const before = await store.readQuota(source);
      const plannedAtMs = this.#nowMs();
      const leaves = held.share.running === 0 && (this.#isStopping || held.share.isIdle(plannedAtMs));
      const own = held.share.ownUse(edge, leaves, plannedAtMs);
      const plan = planShare(before === null ? null : parsed(before.value), own, held.share.quota, clock.nowMs());
      if (plan === null) return true;
      held.share.sending(plan);
      if (await store.replaceQuota(source, JSON.stringify(plan.entry), before?.revision ?? 0)) {
        held.share.stored(plan, own, plannedAtMs);
        // A call that began meanwhile continues without a share until the next renewal.
        if (leaves && held.share.isUnusedSince(own)) this.#held.delete(source);
        return true;
      }
      await this.#pause(attempt * random() * TRY_PAUSE_MS_MAX);
    }
    return false;
  }

  #failed(reason: string): void {
    this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
    this.#parts.onFailed(reason);
  }

  #within(ms: number, done: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const deadline = this.#parts.deadlines.in(ms, () => {
        this.#failed('late');
        resolve();
      });
      void done.then(() => {
        deadline.cancel();
        resolve();
      });
    });
  }

  #pause(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => void this.#parts.deadlines.in(ms, resolve));
  }

  #nowMs(): number {
    return this.#parts.deadlines.nowMs();
  }
}

function parsed(text: string): QuotaEntry {
  return quotaEntry.parse(JSON.parse(text));
}
