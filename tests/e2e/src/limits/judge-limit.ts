import { usageObject } from '@gateway/contracts/public';
import type { UsageObject } from '@gateway/contracts/public';
import { formatUsd, MINUTE_MS, SESSION_5H_MS, WEEK_MS, minuteOf, weekStart } from '@gateway/metering';
import { sumOf } from '@gateway/testkit';
import { get } from '../../test/call.js';
import type { ProviderCount } from '../../test/counting-provider.js';
import type { TestOperator } from '../../test/operator.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import { FAULT_CODES, type FaultSpan, isDuringFault } from '../evidence/judge-call.js';
import { compareLedger } from '../limit-store/compare-ledger.js';
import { countEach } from '../runner/render-report.js';
import type { LimitCase, LimitedAccount } from './limit-cases.js';
import type { PressedCall } from './press-limit.js';

export interface PressedLimit {
  readonly limit: LimitCase;
  readonly account: LimitedAccount;
  readonly fit: number;
  /** In order of completion. The last calls ran after the load had ended. */
  readonly seen: readonly PressedCall[];
  readonly provider: ProviderCount;
  /** Calls per clock minute as counted by the limit store; only for the limit per minute. */
  readonly minutes: readonly number[];
  /** The planted faults. The places of calls with a 500 are returned later. */
  readonly faults: readonly FaultSpan[];
}

const FAILED = '500 upstream_error';
const SLOT_RETRY_SECONDS = 2;

export function admittedOf({ seen }: Pick<PressedLimit, 'seen'>): number {
  return seen.filter(({ answer }) => answer === '200').length;
}

export function faultsOf(seen: readonly PressedCall[]): number {
  return seen.filter(isFault).length;
}

function isFault({ answer }: PressedCall): boolean {
  return answer.startsWith('500 ') && FAULT_CODES.test(answer.slice('500 '.length));
}

/**
 * Checks the responses, the provider's count, the ledger and the usage endpoint against the limit's
 * promise. Returns one sentence per violation.
 */
export async function judgeLimit(pressed: PressedLimit, operator: TestOperator, edgeUrl: string): Promise<string[]> {
  const { account, seen, faults } = pressed;
  const creditUsd = account.creditNanoUsd === null ? null : formatUsd(account.creditNanoUsd);
  const calls = seen.map(({ requestId, answer }) => ({
    requestId,
    chargeNanoUsd: answer === '200' ? CENT_NANO_USD : null,
  }));
  const { expired, differences } = await compareLedger(operator, account.account, creditUsd, calls);
  return [
    ...judgeCounts(pressed),
    ...judgeAnswers(pressed),
    ...(expired === 0 || faults.length > 0 ? [] : [`${expired} calls were held, not made and not released`]),
    ...differences,
    ...(await judgeUsage(pressed, edgeUrl)),
  ].map((sentence) => `${pressed.limit.name}: ${sentence}`);
}

function judgeCounts(pressed: PressedLimit): string[] {
  const { limit, account, fit, seen, provider, minutes } = pressed;
  const admitted = admittedOf(pressed);
  const failed = seen.filter(({ answer }) => answer === FAILED).length;
  const counted = `${admitted} were served, ${failed} failed, and the provider had ${provider.calls} calls`;
  const wrong = provider.calls === admitted + failed ? [] : [counted];
  const fits = `${admitted} were admitted, ${fit} fit`;
  switch (limit.promise) {
    case 'exact':
      if (admitted !== fit) wrong.push(fits);
      break;
    case 'overshoot':
      if (admitted < fit || admitted > fit + account.slots) wrong.push(`${fits}, ${account.slots} slots`);
      wrong.push(...admittedAfterRefusal(pressed));
      break;
    case 'at_once':
      // The slot is taken before the provider sees the call, and returned after the response.
      if (provider.most > account.slots || provider.most < account.slots / 2) {
        wrong.push(`${provider.most} ran concurrently with ${account.slots} slots and more calls waiting`);
      }
      break;
    case 'per_minute': {
      const room = sumOf(minutes.map((count) => Math.min(count, fit)));
      const places = sumOf(minutes);
      const faults = faultsOf(seen);
      // A call with a 500 may have a place. A call that was refused, and repeated because the
      // answer was slow, has two.
      if (admitted > room || admitted < room - faults) wrong.push(`${admitted} were admitted and ${room} fit`);
      if (places < seen.length - faults) wrong.push(`${seen.length} calls took ${places} places`);
      break;
    }
  }
  return wrong;
}

/**
 * Checks that no call began after the first refusal and was admitted. If a replica is killed, its
 * balance snapshots are lost. Settled amounts then count twice until their holds are requested. So
 * a refusal may come early, and calls fit again seconds later (docs/protocol.md#r8 and
 * docs/protocol.md#r9). In that case only calls that began after `fit` responses are violations.
 */
export function admittedAfterRefusal({
  limit: { refusals },
  fit,
  seen,
  faults,
}: Pick<PressedLimit, 'limit' | 'fit' | 'seen' | 'faults'>): string[] {
  const answered = seen.filter(({ answer }) => answer === '200');
  const refusedAt = earliest(seen.filter(({ answer }) => refusals.includes(answer)).map(({ endedAt }) => endedAt));
  const ends = answered.map(({ endedAt }) => endedAt).sort((one, other) => one - other);
  const usedUpAt = faults.length > 0 ? (ends[fit - 1] ?? Infinity) : -Infinity;
  const late = answered.filter(({ begunAt }) => begunAt > Math.max(refusedAt, usedUpAt)).length;
  return late === 0 ? [] : [`${late} were admitted after a refusal because the limit was used up`];
}

/** Checks that only this limit refused calls, and that each refusal has the exact Retry-After. */
function judgeAnswers({ limit, account, seen, faults }: PressedLimit): string[] {
  const expected = [
    '200',
    ...limit.refusals,
    ...(limit.provider.failEvery === undefined ? [] : [FAILED]),
    ...(limit.promise === 'overshoot' ? ['429 concurrency_limit'] : []),
  ];
  const others = seen.filter(
    (call) => !expected.includes(call.answer) && !(isFault(call) && isDuringFault(call, faults)),
  );
  const counts = countEach(others.map(({ answer }) => answer));
  const wrong = [...counts].map(([answer, count]) => `${count} were answered ${answer}`);
  const refusals = seen.filter(({ answer }) => limit.refusals.includes(answer));
  if (refusals.length === 0) wrong.push('nothing was refused');
  // The session began with a call after the first start, and before the end of the first response.
  const opened = {
    from: earliest(seen.map(({ begunAt }) => begunAt)),
    until: earliest(seen.filter(({ answer }) => answer === '200').map(({ endedAt }) => endedAt)),
  };
  const untimely = refusals.filter((call) => !isTimely(limit.resets, account, call, opened));
  if (untimely.length > 0) {
    wrong.push(`${untimely.length} refusals have a wrong Retry-After, for example ${JSON.stringify(untimely[0])}`);
  }
  return wrong;
}

/** Returns the minimum. `Math.min(...)` fails for very long lists. */
function earliest(times: readonly number[]): number {
  return times.reduce((least, time) => Math.min(least, time), Infinity);
}

interface Span {
  readonly from: number;
  readonly until: number;
}

/**
 * Whether Retry-After is the time until the reset in whole seconds, rounded up, or absent if the
 * limit has no reset. The refusal was decided between the start and the end of the call.
 */
function isTimely(
  resets: LimitCase['resets'],
  { period }: LimitedAccount,
  { retryAfter, begunAt, endedAt }: PressedCall,
  opened: Span,
): boolean {
  if (resets === null || retryAfter === null) return resets === null && retryAfter === null;
  if (resets === 'slot') return retryAfter === SLOT_RETRY_SECONDS;
  const spanOf = (resetOf: (at: number) => number): Span => ({ from: resetOf(begunAt), until: resetOf(endedAt) });
  const periodEnd = period?.endMs ?? 0;
  const reset = {
    minute: spanOf((at) => (minuteOf(at) + 1) * MINUTE_MS),
    session_5h: { from: opened.from + SESSION_5H_MS, until: opened.until + SESSION_5H_MS },
    weekly: spanOf((at) => weekStart(at) + WEEK_MS),
    monthly: { from: periodEnd, until: periodEnd },
    period: { from: periodEnd, until: periodEnd },
  }[resets];
  const longestMs = resets === 'minute' ? MINUTE_MS : Infinity;
  const least = Math.max(1, Math.ceil((reset.from - endedAt) / 1000));
  const most = Math.ceil(Math.min(longestMs, reset.until - begunAt) / 1000);
  return retryAfter >= least && retryAfter <= most;
}

async function judgeUsage(pressed: PressedLimit, edgeUrl: string): Promise<string[]> {
  const { limit, account, fit } = pressed;
  const usage = await readUsage(edgeUrl, account.secret);
  if (limit.window === null) return usage.windows.length === 0 ? [] : ['the usage endpoint shows a window'];
  const { type, unit } = limit.window;
  const shown = (count: number): number => (unit === 'usd' ? Number(formatUsd(BigInt(count) * CENT_NANO_USD)) : count);
  const used = shown(admittedOf(pressed));
  const expected = { type, unit, limit: shown(fit), used, remaining: 0, percentUsed: 100 };
  const [window] = usage.windows;
  const [found, wanted] = [JSON.stringify(window), JSON.stringify({ ...window, ...expected })];
  return wanted === found ? [] : [`the usage endpoint returns ${found} instead of ${wanted}`];
}

export async function readUsage(edgeUrl: string, secret: string): Promise<UsageObject> {
  const { status, text } = await get(`${edgeUrl}/v1/gateway/usage`, secret);
  if (status !== 200) throw new Error(`the usage endpoint returned ${status}: ${text}`);
  return usageObject.parse(JSON.parse(text));
}
