import { makeUuidV7 } from '@gateway/contracts/ids';
import { type Clock, counter, every, gauge } from '@gateway/service-kit';
import type { RenewalStore } from './renewals-store.js';

/** Accounts per query, and the number of concurrent renewals. */
const BATCH_MAX = 100;
const CONCURRENT_RENEWALS_MAX = 4;
const POLL_MS = 1_000;
/** Delay after a failed renewal, so that it does not block the other accounts. */
const POSTPONE_MS = 30_000;

export interface RenewalDeps {
  readonly store: RenewalStore;
  /** Delivers the outbox now. */
  readonly nudge: () => void;
  readonly clock: Clock;
  readonly log: { warn(input: object, text: string): void };
  /** Poll interval if no timer is due sooner, since others may set timers. Default: POLL_MS. */
  readonly pollMs?: number | undefined;
}

/**
 * Renews subscriptions before they end, publishes the upcoming periods to admission, and removes
 * the ended ones. Every replica runs this; the first one writes, and the others find nothing to do.
 */
export function startRenewals(deps: RenewalDeps): { stop(): Promise<void> } {
  const { store, clock, log, pollMs = POLL_MS } = deps;
  const renewals = counter('gateway_billing_renewals_total', 'Subscription periods created by renewal');
  let lateMs = 0;
  gauge('gateway_billing_subscription_lag_seconds', 'Delay of the oldest due subscription timer', () => lateMs / 1_000);

  const keep = async (account: string): Promise<void> => {
    const now = clock.nowMs();
    try {
      const { renewed } = await store.renew({ account, newId: makeUuidV7(now), now });
      if (renewed !== null) renewals.add(1);
    } catch (err) {
      log.warn({ err, account }, 'a subscription could not be renewed; will retry');
      await store.postpone(account, now + POSTPONE_MS);
    }
  };

  /** @returns the time until the next account is due, in milliseconds */
  const poll = async (): Promise<number> => {
    const { timers, hasNewPlans } = await store.work(BATCH_MAX);
    const refreshed = hasNewPlans && (await store.refreshPlans(clock.nowMs()));
    const now = clock.nowMs();
    const due = timers.filter(({ dueAt }) => dueAt <= now).map(({ account }) => account);
    lateMs = Math.max(0, now - (timers[0]?.dueAt ?? now));
    if (due.length > 0) {
      await runConcurrently(due, keep);
      deps.nudge();
      return 0;
    }
    if (refreshed) return 0;
    return Math.max(0, Math.min(pollMs, (timers[0]?.dueAt ?? Infinity) - now));
  };

  return every(pollMs, poll, {
    atOnce: true,
    failed: (err) => log.warn({ err }, 'subscription timers could not be read; will retry'),
  });
}

async function runConcurrently(accounts: readonly string[], keep: (account: string) => Promise<void>): Promise<void> {
  const waiting = [...accounts];
  const work = async (): Promise<void> => {
    for (let account = waiting.shift(); account !== undefined; account = waiting.shift()) await keep(account);
  };
  await Promise.all(Array.from({ length: CONCURRENT_RENEWALS_MAX }, work));
}
