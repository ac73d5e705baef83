import { CENT_NANO_USD } from '../../test/prices.js';
import type { Evidence, Terms } from '../evidence/evidence.js';
import { isRefusedBy } from '../evidence/judge-call.js';
import { RICH_NANO_USD } from '../load/accounts.js';
import { countEach } from '../runner/render-report.js';

export const STORES = ['stream', 'redis'] as const;
export type PerStore = Readonly<Record<(typeof STORES)[number], number>>;

/** Fill levels of the stores, and admission's counts since its start, at one time. */
export interface Sample {
  readonly at: number;
  readonly bytes: PerStore;
  readonly holds: number;
  /** Failed requests to billing from all replicas. */
  readonly billingRequests: number;
  readonly logLines: number;
  /** Seconds until admission stops, as its alarm metric reports; the minimum of all replicas. */
  readonly secondsLeft: PerStore;
}

/** Times are epoch milliseconds. */
export interface OutageSeen {
  readonly downAt: number;
  readonly backAt: number;
  readonly caughtUpAt: number;
  readonly samples: readonly Sample[];
  readonly waiting: number;
}

export type OutageMeasures = ReturnType<typeof measureOutage>;

/**
 * Admission of a local system stops at these sizes, bytes (docs/protocol.md#r14,
 * docs/protocol.md#r15).
 */
const GIBIBYTE = 1024 ** 3;
const ROOM: PerStore = { stream: 0.9 * 4 * GIBIBYTE, redis: 0.85 * GIBIBYTE };

export function measureOutage(
  { samples, downAt, backAt, caughtUpAt }: Omit<OutageSeen, 'waiting'>,
  { calls, records }: Pick<Evidence, 'calls' | 'records'>,
) {
  const [first, last] = [samples[0], samples.at(-1)];
  const late = samples[samples.length - 1 - Math.max(1, Math.floor(samples.length / 4))];
  if (first === undefined || last === undefined || late === undefined)
    throw new Error('an outage needs at least two samples');
  const seconds = (last.at - first.at) / 1_000;
  /** Usage records of calls that began between the first and the last sample. */
  const stored = records.filter(({ startedAt }) => startedAt >= first.at && startedAt < last.at).length;
  /** Holds that were created in the same time: fewer, because failed calls leave none. */
  const held = last.holds - first.holds;
  const grown = (of: keyof PerStore): number => last.bytes[of] - first.bytes[of];
  const left = (of: keyof PerStore): number => (ROOM[of] - last.bytes[of]) / (grown(of) / seconds);
  const lateRate = (of: 'logLines' | 'billingRequests'): number =>
    (last[of] - late[of]) / ((last.at - late.at) / 1_000);
  const offered = calls.filter(({ begunAt }) => begunAt >= downAt && begunAt < backAt);
  const refused = calls.filter((call) => isRefusedBy({ from: downAt, until: caughtUpAt }, call));
  return {
    ...{ seconds, stored, held },
    /** Calls that began during the outage, and those of them with a response. */
    offered: offered.length,
    answered: offered.filter(({ status }) => status !== null).length,
    bytesPerCall: { stream: grown('stream') / stored, redis: grown('redis') / held },
    /** Seconds that each store lasts at the end: forecast by the alarm, and at the mean growth. */
    forecast: last.secondsLeft,
    expected: { stream: left('stream'), redis: left('redis') },
    /** Rates per second in the last quarter of the outage. */
    logLines: lateRate('logLines'),
    billingRequests: lateRate('billingRequests'),
    /** Calls that the outage refused or broke, by code, until billing had caught up. */
    refused: Object.fromEntries(countEach(refused.map(({ code, ending }) => code ?? ending))),
  };
}

/** Most lines per minute that two replicas may log: about requests to billing, and other events. */
const LOG_LINES_A_MINUTE_MAX = 20;
/** Two replicas request once per sweep, and sweep at most three times per second. */
const QUESTIONS_A_SECOND_MAX = 10;
/** With fewer holds, their size is lost in the fluctuations of Redis's own memory. */
const HELD_MIN = 5_000;
/** Bytes per call, rounded up: stored in the stream, and held in Redis after its end. */
const BYTES_PER_CALL: PerStore = { stream: 1_000, redis: 400 };
/** The alarm uses the growth of the last ten minutes, in steps of ten seconds. */
const FORECAST_FACTOR_MAX = 2;

/** Describes each effect of the outage that a client or an operator could notice. */
export function judgeOutage(measures: OutageMeasures): string[] {
  const { refused, logLines, billingRequests, bytesPerCall, held, forecast, expected } = measures;
  const wrong = Object.entries(refused).map(([code, count]) => `${count} calls were refused: ${code}`);
  if (logLines * 60 > LOG_LINES_A_MINUTE_MAX) wrong.push(`the log grew by ${logLines} lines per second`);
  if (billingRequests > QUESTIONS_A_SECOND_MAX) wrong.push(`billing got ${billingRequests} requests per second`);
  for (const store of STORES) {
    if (store === 'redis' && held < HELD_MIN) continue;
    if (!(bytesPerCall[store] <= BYTES_PER_CALL[store]))
      wrong.push(`a call takes ${bytesPerCall[store]} bytes of ${store}, above ${BYTES_PER_CALL[store]}`);
    const factor = forecast[store] / expected[store];
    if (factor > FORECAST_FACTOR_MAX || factor < 1 / FORECAST_FACTOR_MAX)
      wrong.push(`the alarm of ${store} forecasts ${forecast[store]} s, and the growth leaves ${expected[store]} s`);
  }
  return wrong;
}

/** The last call to end may have returned its cent. */
const CENTS_LEFT_MAX = 1n;

/**
 * Checks limits that calls use up: a refused account must have used its limit up to the last call.
 */
export function judgeExactness({ terms, calls, records }: Evidence): string[] {
  return terms.flatMap(({ account, ...bounds }) => {
    const fit = callsThatFit(bounds);
    const isPressed = calls.some((call) => call.account === account && [402, 429].includes(call.status ?? 0));
    if (fit === null || !isPressed) return [];
    const settled = records.filter((one) => one.account === account && one.outcome === 'settled').length;
    return fit - BigInt(settled) <= CENTS_LEFT_MAX ? [] : [`${account} was refused after ${settled} of ${fit} calls`];
  });
}

/**
 * Returns the number of calls that the limit allows, at one cent per call; null if there is no such
 * limit.
 */
function callsThatFit({ creditNanoUsd, keyCapNanoUsd, windowRequests }: Omit<Terms, 'account'>): bigint | null {
  if (windowRequests !== null) return BigInt(windowRequests);
  if (keyCapNanoUsd !== null) return keyCapNanoUsd / CENT_NANO_USD;
  return creditNanoUsd >= RICH_NANO_USD ? null : creditNanoUsd / CENT_NANO_USD;
}
