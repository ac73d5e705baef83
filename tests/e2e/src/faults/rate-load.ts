import type { RunAccount } from './arrange-accounts.js';
import type { ClientCall } from './evidence.js';
import { callerOf, type FaultLoadOptions } from './fault-load.js';

export interface RateLoad {
  /** Calls that have ended, in order of completion. */
  readonly seen: readonly ClientCall[];
  /**
   * Calls that were skipped because too many were running: the machine is too slow for the rate.
   */
  readonly leftOut: number;
  /** Makes no further calls; resolves when all running calls have ended. */
  stop(): Promise<void>;
}

export interface RateLoadOptions extends FaultLoadOptions {
  readonly callsPerSecond: number;
}

const TICK_MS = 20;
const UNDER_WAY_MAX = 1_000;

/**
 * Makes calls at a constant rate until the load is stopped. Accounts are chosen at random, weighted
 * by their number of workers.
 */
export function startRateLoad({ accounts, callsPerSecond, ...how }: RateLoadOptions): RateLoad {
  const lanes = accounts.flatMap((account) => Array<RunAccount>(account.workers).fill(account));
  const makeNext = callerOf(how);
  const seen: ClientCall[] = [];
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  let begun = 0;
  let leftOut = 0;
  const beginOne = (): void => {
    begun += 1;
    const account = lanes[Math.floor(how.next() * lanes.length)];
    if (account === undefined) throw new Error('there is no account to call for');
    if (underWay.size >= UNDER_WAY_MAX) {
      leftOut += 1;
      return;
    }
    const call = makeNext(account, begun).then((ended) => {
      seen.push(ended);
      underWay.delete(call);
    });
    underWay.add(call);
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1_000) * callsPerSecond;
    while (begun < due) beginOne();
  }, TICK_MS);
  return {
    seen,
    get leftOut() {
      return leftOut;
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}
