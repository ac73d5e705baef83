import type { ClientResult } from '../../test/load.js';

/**
 * Codes that clients may read while the limit store is down and shortly after
 * (docs/protocol.md#failures).
 */
const FAULT_CODES: readonly string[] = ['admission_error', 'lookup_failed'];

/** Returns the times of all 500s of calls that ended after `sinceMs`, epoch milliseconds. */
export function faultsOf(seen: readonly ClientResult[], sinceMs: number): number[] {
  return seen.flatMap(({ status, endedAt }) => {
    const at = Date.parse(endedAt);
    return status !== null && status >= 500 && at >= sinceMs ? [at] : [];
  });
}

/**
 * Describes the responses that are neither expected nor a fault that a lost limit store may cause.
 */
export function wrongAnswers(seen: readonly ClientResult[], expected: readonly string[]): string[] {
  const faults = FAULT_CODES.map((code) => `500 ${code}`);
  return seen.flatMap((call) => {
    const answer = answerOf(call);
    if (expected.includes(answer) || faults.includes(answer)) return [];
    return [`${call.requestId ?? 'a call'} of ${call.account} got ${answer}: ${call.body.slice(0, 200)}`];
  });
}

function answerOf({ status, complete, body }: ClientResult): string {
  if (status === null) return 'no response';
  if (status === 200) return complete ? '200' : '200 cut';
  return `${status} ${codeOf(body)}`;
}

function codeOf(body: string): string {
  try {
    return String((JSON.parse(body) as { error?: { code?: unknown } }).error?.code);
  } catch {
    return 'unreadable';
  }
}
