import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@gateway/testkit';
import type { RunAccount } from './arrange-accounts.js';
import { planCall } from './call-plan.js';
import type { Mix } from './call-plan.js';
import type { ClientCall, ModelOfRun } from './evidence.js';
import { makeCall } from './make-call.js';

export interface FaultLoad {
  /** Calls that have ended, in order of completion. */
  readonly seen: readonly ClientCall[];
  readonly begun: number;
  /** Pauses until {@link FaultLoad.goOn}; resolves when all running calls have ended. */
  rest(): Promise<void>;
  goOn(): void;
  /** Makes no further calls; resolves when all running calls have ended. */
  stop(): Promise<void>;
}

export interface FaultLoadOptions {
  readonly accounts: readonly RunAccount[];
  readonly edgeUrls: readonly string[];
  readonly modelIds: Readonly<Record<ModelOfRun, string>>;
  readonly mix: Mix;
  readonly next: () => number;
}

/** Pause after a refusal, so that refusals do not outnumber the other calls. */
const REFUSED_PAUSE_MS = 250;
/** Pause after a call without a response. */
const BROKEN_PAUSE_MS = 50;

/** Timeout for the end of all running calls. */
const PAUSE_MS_MAX = 120_000;

/**
 * Returns a function that makes call number `n` for an account, with a random plan at a random
 * edge.
 */
export function callerOf({ edgeUrls, modelIds, mix, next }: Omit<FaultLoadOptions, 'accounts'>) {
  return ({ terms, secret, model }: RunAccount, n: number): Promise<ClientCall> => {
    const plan = planCall(n, next, mix);
    const edge = Math.floor(next() * edgeUrls.length);
    const place = { account: terms.account, secret, edge, edgeUrl: edgeUrls[edge] ?? '', model };
    return makeCall(plan, { ...place, modelId: modelIds[model] });
  };
}

/** Makes calls for all accounts, each with its number of workers, until the load is stopped. */
export function startFaultLoad({ accounts, ...how }: FaultLoadOptions): FaultLoad {
  const makeNext = callerOf(how);
  const seen: ClientCall[] = [];
  let stopped = false;
  let begun = 0;
  let resting: Promise<void> | null = null;
  let goOn = (): void => undefined;
  const worker = async (account: RunAccount): Promise<void> => {
    for (;;) {
      if (resting !== null) await resting;
      if (stopped) return;
      begun += 1;
      const call = await makeNext(account, begun);
      seen.push(call);
      if (call.ending === 'refused') await delay(REFUSED_PAUSE_MS);
      else if (call.status === null) await delay(BROKEN_PAUSE_MS);
    }
  };
  const workers = accounts.flatMap((account) => Array.from({ length: account.workers }, () => worker(account)));
  return {
    seen,
    get begun() {
      return begun;
    },
    async rest() {
      resting = new Promise((resolve) => {
        goOn = () => {
          resting = null;
          resolve();
        };
      });
      await until('the last call has ended', () => seen.length === begun, PAUSE_MS_MAX);
    },
    goOn: () => goOn(),
    async stop() {
      stopped = true;
      goOn();
      await Promise.all(workers);
    },
  };
}
