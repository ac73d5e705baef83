import { usageObject } from '@gateway/contracts/public';
import type { UsageObject } from '@gateway/contracts/public';
import { formatUsd } from '@gateway/metering';
import { get } from '../../test/call.js';
import type { ProviderCount } from '../../test/counting-provider.js';
import type { TestOperator } from '../../test/operator.js';
import { CENT_NANO_USD } from '../../test/prices.js';
import { RECOVERY_MS } from '../evidence/judge-call.js';
import { compareLedger } from '../limit-store/compare-ledger.js';
import { countEach } from '../runner/render-report.js';
import type { LimitCase, LimitedAccount } from './limit-cases.js';
import type { PressedCall } from './press-limit.js';
import { earliest, wrongRetryAfters } from './judge-retry-after.js';

/** Results of the load on one limit. */
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

/** From a fault until the harmed part is ready again, in times of the limit store. */
export interface FaultSpan {
  readonly fromMs: number;
  readonly untilMs: number;
}

const FAILED = '500 upstream_error';
const FAULTS: readonly string[] = ['500 admission_error', '500 lookup_failed'];

/** Returns the number of admitted calls, and the excess for limits that allow an overshoot. */
export function admittedOf({ limit, seen, fit }: PressedLimit): { admitted: number; overshoot: number } {
  const admitted = seen.filter(({ answer }) => answer === '200').length;
  return { admitted, overshoot: limit.promise === 'overshoot' ? Math.max(0, admitted - fit) : 0 };
}

export function faultsOf(seen: readonly PressedCall[]): number {
  return seen.filter(({ answer }) => FAULTS.includes(answer)).length;
}

export interface Judgement {
  /** Records of calls that were held and never made. */
  readonly expired: number;
  /** One sentence per violation of the limit. */
  readonly differences: readonly string[];
}

/**
 * Checks the responses, the provider's count, the ledger and the usage endpoint against the limit's
 * promise.
 */
export async function judgeLimit(pressed: PressedLimit, operator: TestOperator, edgeUrl: string): Promise<Judgement> {
  const { account, seen, faults } = pressed;
  const creditUsd = account.creditNanoUsd === null ? null : formatUsd(account.creditNanoUsd);
  const calls = seen.map(({ requestId, answer }) => ({
    requestId,
    chargeNanoUsd: answer === '200' ? CENT_NANO_USD : null,
  }));
  const { expired, differences } = await compareLedger(operator, account.account, creditUsd, calls);
  const sentences = [
    ...judgeCounts(pressed),
    ...judgeAnswers(pressed),
    ...(expired === 0 || faults.length > 0 ? [] : [`${expired} calls were held, not made and not released`]),
    ...differences,
    ...(await judgeUsage(pressed, edgeUrl)),
  ];
  return { expired, differences: sentences.map((sentence) => `${pressed.limit.name}: ${sentence}`) };
}

function judgeCounts(pressed: PressedLimit): string[] {
  const { limit, account, fit, seen, provider, minutes } = pressed;
  const { admitted } = admittedOf(pressed);
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
  const refusedAt = earliest(seen.filter(({ answer }) => refusals.includes(answer)).map(({ endedAtMs }) => endedAtMs));
  const ends = answered.map(({ endedAtMs }) => endedAtMs).sort((one, other) => one - other);
  const usedUpAt = faults.length > 0 ? (ends[fit - 1] ?? Infinity) : -Infinity;
  const late = answered.filter(({ begunAtMs }) => begunAtMs > Math.max(refusedAt, usedUpAt)).length;
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
  const others = seen.filter((call) => !expected.includes(call.answer) && !isCausedByFault(call, faults));
  const counts = countEach(others.map(({ answer }) => answer));
  const wrong = [...counts].map(([answer, count]) => `${count} were answered ${answer}`);
  const own = seen.filter(({ answer }) => limit.refusals.includes(answer));
  if (own.length === 0) wrong.push('nothing was refused');
  const untimely = wrongRetryAfters(limit, account, seen, own);
  const [first] = untimely;
  if (first !== undefined) {
    wrong.push(
      `${untimely.length} refusals have a wrong Retry-After, for example ${first.retryAfter} at ${first.endedAtMs}`,
    );
  }
  return wrong;
}

export function isCausedByFault({ answer, begunAtMs, endedAtMs }: PressedCall, faults: readonly FaultSpan[]): boolean {
  const meets = ({ fromMs, untilMs }: FaultSpan): boolean => endedAtMs >= fromMs && begunAtMs <= untilMs + RECOVERY_MS;
  return FAULTS.includes(answer) && faults.some(meets);
}

/** Checks the usage endpoint after everything has settled. */
async function judgeUsage(pressed: PressedLimit, edgeUrl: string): Promise<string[]> {
  const { limit, account, fit } = pressed;
  const usage = await readUsage(edgeUrl, account.secret);
  if (limit.window === null) return usage.windows.length === 0 ? [] : ['the usage endpoint shows a window'];
  const { admitted } = admittedOf(pressed);
  const { type, unit } = limit.window;
  const shown = (count: number): number => (unit === 'usd' ? Number(formatUsd(BigInt(count) * CENT_NANO_USD)) : count);
  const expected = { type, unit, limit: shown(fit), used: shown(admitted), remaining: 0, percentUsed: 100 };
  const [window] = usage.windows;
  const text = window && Object.fromEntries(Object.keys(expected).map((name) => [name, window[name as 'type']]));
  const [wanted, found] = [JSON.stringify(expected), JSON.stringify(text)];
  return wanted === found ? [] : [`the usage endpoint returns ${found} instead of ${wanted}`];
}

/** Reads GET /v1/gateway/usage and validates it against its schema. */
export async function readUsage(edgeUrl: string, secret: string): Promise<UsageObject> {
  const { status, text } = await get(`${edgeUrl}/v1/gateway/usage`, secret);
  if (status !== 200) throw new Error(`the usage endpoint returned ${status}: ${text}`);
  return usageObject.parse(JSON.parse(text));
}
