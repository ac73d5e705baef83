import { setTimeout as delay } from 'node:timers/promises';
import { within } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import type { ClientCall, ModelOfRun } from '../evidence/evidence.js';
import type { RunAccount } from './accounts.js';
import { planCall, planSteadyCall, promptOf, textOf } from './call-plan.js';
import type { CallPlan, Mix } from './call-plan.js';
import { callRaw } from './raw-client.js';
import { CALL_MS_MAX, type CallPlace, type Reading } from './reading.js';
import { callWithAnthropic, callWithOpenai } from './sdk-clients.js';

/** Tokens that `max_tokens` allows above the number that the provider reports. */
const TOKENS_ABOVE = 8;
/** Time that a client has to notice the end of its call. After that the call is abandoned. */
const UNNOTICED_MS = 5_000;
/** Pause after a refusal, so that refusals do not outnumber the other calls. */
const REFUSED_PAUSE_MS = 250;
const BROKEN_PAUSE_MS = 50;
const REST_MS_MAX = 120_000;
/** Number of concurrent plain calls of a steady load, in addition to its streams. */
const PLAIN_WORKERS = 6;

export interface Load {
  /** Calls that have ended, in order of completion. */
  readonly seen: readonly ClientCall[];
  /** Makes no further calls; resolves when all running calls have ended. */
  stop(): Promise<void>;
}

/** A load of workers. Each makes one call after the other. */
export interface FaultLoad extends Load {
  readonly begun: number;
  /** Pauses until {@link FaultLoad.goOn}; resolves when all running calls have ended. */
  rest(): Promise<void>;
  goOn(): void;
}

export interface SteadyLoad extends Load {
  /** Numbers of the running calls at an edge. */
  underWay(edge: number): readonly number[];
}

export interface LoadOptions {
  readonly accounts: readonly RunAccount[];
  readonly edgeUrls: readonly string[];
  readonly modelIds: Readonly<Record<ModelOfRun, string>>;
  readonly mix: Mix;
  readonly next: () => number;
  /** Rate of all workers together. Default: each makes its next call at once. */
  readonly callsPerSecond?: number;
}

/** An edge that receives calls. Each process of the service has a different number. */
export interface EdgeTarget {
  readonly number: number;
  readonly url: string;
}

export interface SteadyLoadOptions {
  readonly accounts: readonly RunAccount[];
  readonly modelId: string;
  readonly streams: number;
  /** Pause between two of the 12 to 20 chunks of a stream. */
  readonly pieceMs: number;
  /** Calls of earlier loads of the run. This load adds its calls and continues their numbers. */
  readonly seen: ClientCall[];
  /** The edges that receive calls now, in turn. */
  readonly edges: () => readonly EdgeTarget[];
}

/** Makes calls for all accounts, each with its number of workers, until the load is stopped. */
export function startFaultLoad({ accounts, callsPerSecond = Infinity, ...options }: LoadOptions): FaultLoad {
  const workers = accounts.flatMap((account) => Array<RunAccount>(account.workers).fill(account));
  return startWorkers(workers, callerOf(options), [], (workers.length * 1_000) / callsPerSecond);
}

/** Keeps the streams open and makes plain calls until the load is stopped. Plans no failures. */
export function startSteadyLoad({ accounts, modelId, streams, pieceMs, seen, edges }: SteadyLoadOptions): SteadyLoad {
  const underWay = new Map<number, number>();
  const workers = Array.from({ length: streams + PLAIN_WORKERS }, (_, at) => pick(accounts, at % accounts.length));
  const makeNext = async (account: RunAccount, n: number, worker: number): Promise<ClientCall> => {
    const plan = planSteadyCall(n, worker < streams ? pieceMs : null);
    const { number: edge, url } = pick(edges(), n % edges().length);
    underWay.set(n, edge);
    const call = await makeCall(plan, { ...placeOf(account), modelId, edge, edgeUrl: url });
    underWay.delete(n);
    return call;
  };
  const load = startWorkers(workers, makeNext, seen);
  return Object.assign(load, {
    underWay: (edge: number) => [...underWay].flatMap(([n, of]) => (of === edge ? [n] : [])),
  });
}

/**
 * Starts one worker for each account of the list.
 *
 * @param seen gets the ended calls; the numbers of new calls continue its length
 * @param everyMs shortest time between two calls of a worker
 */
function startWorkers(
  accounts: readonly RunAccount[],
  makeNext: (account: RunAccount, n: number, worker: number) => Promise<ClientCall>,
  seen: ClientCall[] = [],
  everyMs = 0,
): FaultLoad {
  let stopped = false;
  let begun = seen.length;
  let resting: Promise<void> | null = null;
  let goOn = (): void => undefined;
  const workers = accounts.map(async (account, worker) => {
    let dueAt = performance.now() + (everyMs * worker) / accounts.length;
    for (;;) {
      if (everyMs > 0) await delay(Math.max(0, dueAt - performance.now()));
      dueAt = Math.max(dueAt, performance.now()) + everyMs;
      if (resting !== null) await resting;
      if (stopped) return;
      begun += 1;
      const call = await makeNext(account, begun, worker);
      seen.push(call);
      if (call.ending === 'refused') await delay(REFUSED_PAUSE_MS);
      else if (call.status === null) await delay(BROKEN_PAUSE_MS);
    }
  });
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
      await until('the last call has ended', () => seen.length === begun, REST_MS_MAX);
    },
    goOn: () => goOn(),
    async stop() {
      stopped = true;
      goOn();
      await Promise.all(workers);
    },
  };
}

function pick<T>(all: readonly T[], at: number): T {
  const one = all[at];
  if (one === undefined) throw new Error('there is no account or edge for a call');
  return one;
}

function placeOf({ terms, secret, model }: RunAccount): Pick<CallPlace, 'account' | 'secret' | 'model'> {
  return { account: terms.account, secret, model };
}

/** Returns a function that makes call number `n` with a random plan at a random edge. */
function callerOf({ edgeUrls, modelIds, mix, next }: Omit<LoadOptions, 'accounts'>) {
  return (account: RunAccount, n: number): Promise<ClientCall> => {
    const plan = planCall(n, next, mix);
    const edge = Math.floor(next() * edgeUrls.length);
    const modelId = modelIds[account.model];
    return makeCall(plan, { ...placeOf(account), modelId, edge, edgeUrl: edgeUrls[edge] ?? '' });
  };
}

/** Makes one call as planned and returns what its client saw. Never rejects. */
async function makeCall(plan: CallPlan, place: CallPlace): Promise<ClientCall> {
  const nothing = { requestId: null, status: null, code: null, text: '', usage: null };
  const reading: Reading = { ...nothing, isWhole: false, hasLeft: false };
  const begunAt = Date.now();
  const call = { openai: callWithOpenai, anthropic: callWithAnthropic, raw: callRaw }[plan.client];
  const request = { plan, place, prompt: promptOf(plan, place.model), maxTokens: plan.n + TOKENS_ABOVE };
  await within(call(request, reading), CALL_MS_MAX + UNNOTICED_MS).catch(() => undefined);
  const { n, client, streamed } = plan;
  const { account, model, edge } = place;
  const { requestId, status, code, usage } = reading;
  const text = compareText(reading.text, textOf(plan));
  const seen = { requestId, status, code, usage, ending: endingOf(reading), text };
  return { n, account, model, edge, client, streamed, ...seen, begunAt, endedAt: Date.now() };
}

function endingOf({ status, isWhole, hasLeft }: Reading): ClientCall['ending'] {
  if (status !== null && status !== 200) return 'refused';
  if (isWhole) return 'whole';
  return hasLeft ? 'left' : 'cut';
}

function compareText(read: string, expected: string): ClientCall['text'] {
  if (read === expected) return 'all';
  return expected.startsWith(read) ? 'beginning' : 'other';
}
