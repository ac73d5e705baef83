import { BYTES_PER_CALL } from './outage-minutes.js';
import type { Evidence, Terms } from '../evidence/evidence.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import { RICH_NANO_USD } from '../load/accounts.js';
import { endsOf, expectedLeft, type OutageMeasures } from './measure-outage.js';
import type { Sample } from './read-sample.js';

/** Most lines per minute that two replicas may log: about requests to billing, and other events. */
const LOG_LINES_A_MINUTE_MAX = 20;
/** Two replicas request once per sweep, and sweep at most three times per second. */
const QUESTIONS_A_SECOND_MAX = 10;
/** With fewer holds, their size is lost in the fluctuations of Redis's own memory. */
const HELD_MIN = 5_000;
/** The alarm uses the growth of the last ten minutes, in steps of ten seconds. */
const FORECAST_FACTOR_MAX = 2;
/** The last call to end may have returned its cent. */
const CENTS_LEFT_MAX = 1n;

/** Describes each effect of the outage that a client or an operator could notice. */
export function judgeOutage(measures: OutageMeasures, samples: readonly Sample[]): string[] {
  const { refused, logLines, billingRequests, bytesPerCall, held } = measures;
  const wrong = Object.entries(refused).map(([code, count]) => `${count} calls were refused: ${code}`);
  if (logLines.last * 60 > LOG_LINES_A_MINUTE_MAX) wrong.push(`the log grew by ${logLines.last} lines per second`);
  if (billingRequests.last > QUESTIONS_A_SECOND_MAX)
    wrong.push(`billing got ${billingRequests.last} requests per second`);
  const isMeasured = held >= HELD_MIN;
  for (const store of isMeasured ? (['stream', 'redis'] as const) : (['stream'] as const)) {
    if (!(bytesPerCall[store] <= BYTES_PER_CALL[store])) {
      wrong.push(`a call takes ${bytesPerCall[store]} bytes of ${store}, above ${BYTES_PER_CALL[store]}`);
    }
    const [forecast, expected] = [endsOf(samples)[1].secondsLeft[store], expectedLeft(samples)[store]];
    if (forecast > expected * FORECAST_FACTOR_MAX || forecast < expected / FORECAST_FACTOR_MAX) {
      wrong.push(`the alarm of ${store} forecasts ${forecast} s, and the growth leaves ${expected} s`);
    }
  }
  return wrong;
}

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
