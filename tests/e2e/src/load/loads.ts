import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@gateway/testkit';
import type { ClientCall, ModelOfRun } from '../evidence/evidence.js';
import type { RunAccount } from './accounts.js';
import type { CallPlan } from './call-plan.js';
import { makeCall } from './make-call.js';

/** Pause after a refusal, so that refusals do not outnumber the other calls. */
const REFUSED_PAUSE_MS = 250;
const BROKEN_PAUSE_MS = 50;
/**
 * Between the first calls of two workers. This process also has the provider and the proxies of all
 * links. While it compiles its clients on a busy machine, requests between services time out.
 */
const FIRST_CALLS_MS = 25;
/** Longer than a client waits. */
const LAST_CALLS_MS = 120_000;

export interface Load {
  /** Numbers of the running calls, and the edge of each. */
  readonly underWay: ReadonlyMap<number, number>;
  /** Makes no further calls; resolves when all running calls have ended. */
  stop(): Promise<void>;
}

/** An edge that receives calls. Each process of the service has a different number. */
export interface EdgeTarget {
  readonly number: number;
  readonly url: string;
}

export interface LoadOptions {
  /** Each entry makes one call after the other. */
  readonly workers: readonly RunAccount[];
  readonly modelIds: Readonly<Record<ModelOfRun, string>>;
  /** The edges that receive calls now, in turn. */
  readonly edges: () => readonly EdgeTarget[];
  readonly plan: (n: number, worker: number) => CallPlan;
  /** Gets the ended calls, in order of completion. The numbers of new calls continue its length. */
  readonly seen: ClientCall[];
  /**
   * Rate of all workers together, in turn. They do not wait for responses, so that slow ones do not
   * lower the rate. Default: each worker makes its next call after the response.
   */
  readonly callsPerSecond?: number;
  /** First calls of workers that run at the same time, if they are short. Default: all. */
  readonly firstCallsMax?: number;
}

/** Makes calls until the load is stopped. An earlier load with the same `seen` must have ended. */
export function startLoad(options: LoadOptions): Load {
  const { workers, modelIds, edges, plan, seen, callsPerSecond, firstCallsMax = Infinity } = options;
  const underWay = new Map<number, number>();
  let stopped = false;
  let begun = seen.length;
  const callOnce = async (worker: number): Promise<void> => {
    const n = (begun += 1);
    const [payer, edge] = [workers[worker], edges()[n % edges().length]];
    if (payer === undefined || edge === undefined) throw new Error('there is no account or edge for a call');
    const { terms, secret, model } = payer;
    const place = { account: terms.account, secret, model, modelId: modelIds[model] };
    underWay.set(n, edge.number);
    const call = await makeCall(plan(n, worker), { ...place, edge: edge.number, edgeUrl: edge.url });
    underWay.delete(n);
    seen.push(call);
    if (call.ending === 'refused') await delay(REFUSED_PAUSE_MS);
    else if (call.status === null) await delay(BROKEN_PAUSE_MS);
  };
  const callAtRate = async (rate: number): Promise<void> => {
    const startedAt = performance.now();
    for (let count = 0; ; count += 1) {
      await delay(Math.max(0, startedAt + (count * 1_000) / rate - performance.now()));
      if (stopped) return;
      void callOnce(count % workers.length);
    }
  };
  const firstCalls: Promise<void>[] = [];
  const callInTurn = async (worker: number): Promise<void> => {
    const earlier = firstCalls[worker - firstCallsMax] ?? delay(worker * FIRST_CALLS_MS);
    firstCalls.push(earlier.then(() => (stopped ? undefined : callOnce(worker))));
    await firstCalls[worker];
    while (!stopped) await callOnce(worker);
  };
  const calling =
    callsPerSecond === undefined ? workers.map((_, worker) => callInTurn(worker)) : [callAtRate(callsPerSecond)];
  return {
    underWay,
    async stop() {
      stopped = true;
      await Promise.all(calling);
      await until('the last call has ended', () => underWay.size === 0, LAST_CALLS_MS);
    },
  };
}
