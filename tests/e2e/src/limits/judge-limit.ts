import { usageObject } from '@gateway/contracts/public';
import type { UsageObject } from '@gateway/contracts/public';
import { formatUsd, MINUTE_MS, SESSION_5H_MS, WEEK_MS, minuteOf, weekStart } from '@gateway/metering';
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
  const wrong: string[] = [];
  const failed = seen.filter(({ answer }) => answer === FAILED).length;
  if (provider.calls !== admitted + failed) {
    wrong.push(`${admitted} were served, ${failed} failed, and the provider had ${provider.calls} calls`);
  }
  switch (limit.promise) {
    case 'exact':
      if (admitted !== fit) wrong.push(`${admitted} were admitted and ${fit} fit`);
      break;
    case 'overshoot':
      if (admitted < fit) wrong.push(`${admitted} were admitted and ${fit} fit`);
      if (admitted > fit + account.slots) wrong.push(`${admitted} were admitted, ${fit} fit, ${account.slots} slots`);
      wrong.push(...admittedAfterRefusal(pressed));
      break;
    case 'at_once':
      // The slot is taken before the provider sees the call, and returned after the response.
      if (provider.most > account.slots || provider.most < account.slots / 2) {
        wrong.push(`${provider.most} ran concurrently with ${account.slots} slots and more calls waiting`);
      }
      break;
    case 'per_minute': {
      const fits = minutes.reduce((sum, count) => sum + Math.min(count, fit), 0);
      const counted = minutes.reduce((sum, count) => sum + count, 0);
      const faults = faultsOf(seen);
      // A call with a 500 may have a place. A call that was refused, and repeated because the
      // answer was slow, has two.
      if (admitted > fits || admitted < fits - faults) wrong.push(`${admitted} were admitted and ${fits} fit`);
      if (counted < seen.length - faults) wrong.push(`${seen.length} calls took ${counted} places`);
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
  const own = seen.filter(({ answer }) => limit.refusals.includes(answer));
  if (own.length === 0) wrong.push('nothing was refused');
  const untimely = wrongRetryAfters(limit, account, seen, own);
  const [first] = untimely;
  if (first !== undefined) {
    wrong.push(
      `${untimely.length} refusals have a wrong Retry-After, for example ${first.retryAfter} at ${first.endedAt}`,
    );
  }
  return wrong;
}

async function judgeUsage(pressed: PressedLimit, edgeUrl: string): Promise<string[]> {
  const { limit, account, fit } = pressed;
  const usage = await readUsage(edgeUrl, account.secret);
  if (limit.window === null) return usage.windows.length === 0 ? [] : ['the usage endpoint shows a window'];
  const admitted = admittedOf(pressed);
  const { type, unit } = limit.window;
  const shown = (count: number): number => (unit === 'usd' ? Number(formatUsd(BigInt(count) * CENT_NANO_USD)) : count);
  const expected = { type, unit, limit: shown(fit), used: shown(admitted), remaining: 0, percentUsed: 100 };
  const [window] = usage.windows;
  const text = window && Object.fromEntries(Object.keys(expected).map((name) => [name, window[name as 'type']]));
  const [wanted, found] = [JSON.stringify(expected), JSON.stringify(text)];
  return wanted === found ? [] : [`the usage endpoint returns ${found} instead of ${wanted}`];
}

export async function readUsage(edgeUrl: string, secret: string): Promise<UsageObject> {
  const { status, text } = await get(`${edgeUrl}/v1/gateway/usage`, secret);
  if (status !== 200) throw new Error(`the usage endpoint returned ${status}: ${text}`);
  return usageObject.parse(JSON.parse(text));
}

interface Span {
  readonly from: number;
  readonly until: number;
}

const SLOT_RETRY_SECONDS = 2;

/**
 * Returns the refusals with a wrong Retry-After: not the time until the reset, or present although
 * the limit has no reset.
 */
export function wrongRetryAfters(
  { resets }: LimitCase,
  account: LimitedAccount,
  seen: readonly PressedCall[],
  refusals: readonly PressedCall[],
): PressedCall[] {
  // The session began with a call after the first start, and before the end of the first response.
  const opened: Span = {
    from: earliest(seen.map(({ begunAt }) => begunAt)),
    until: earliest(seen.filter(({ answer }) => answer === '200').map(({ endedAt }) => endedAt)),
  };
  return refusals.filter((call) => {
    const seconds = secondsOf(resets, account, call, opened);
    if (seconds === null) return call.retryAfter !== null;
    return call.retryAfter === null || call.retryAfter < seconds.from || call.retryAfter > seconds.until;
  });
}

/** Returns the minimum. `Math.min(...)` fails for very long lists. */
export function earliest(times: readonly number[]): number {
  return times.reduce((least, time) => Math.min(least, time), Infinity);
}

/**
 * Returns the bounds of Retry-After in whole seconds, rounded up. The refusal was decided between
 * the start and the end of the call.
 */
function secondsOf(
  resets: LimitCase['resets'],
  { period }: LimitedAccount,
  { begunAt, endedAt }: PressedCall,
  opened: Span,
): Span | null {
  const between = (from: number, until: number): Span => ({
    from: Math.ceil((from - endedAt) / 1000),
    until: Math.ceil((until - begunAt) / 1000),
  });
  switch (resets) {
    case null:
      return null;
    case 'slot':
      return { from: SLOT_RETRY_SECONDS, until: SLOT_RETRY_SECONDS };
    case 'minute': {
      const [first, last] = [minuteOf(begunAt), minuteOf(endedAt)];
      if (first !== last) return { from: 1, until: MINUTE_MS / 1000 };
      return between((first + 1) * MINUTE_MS, (first + 1) * MINUTE_MS);
    }
    case 'session_5h':
      return between(opened.from + SESSION_5H_MS, opened.until + SESSION_5H_MS);
    case 'weekly':
      return between(weekStart(begunAt) + WEEK_MS, weekStart(endedAt) + WEEK_MS);
    case 'monthly':
    case 'period':
      return between(period?.endMs ?? 0, period?.endMs ?? 0);
  }
}
