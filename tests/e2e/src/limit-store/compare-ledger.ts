import type { UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import type { ClientResult } from '../../test/load.js';
import type { TestOperator } from '../../test/operator.js';

/** One call as its client saw it. The charge is null if the client did not see it admitted. */
export interface ClientCall {
  readonly requestId: string;
  readonly chargeNanoUsd: bigint | null;
}

export interface Comparison {
  /** Number of records with a charge, and without one. */
  readonly settled: number;
  readonly uncharged: number;
  /** One sentence per difference between the ledger and the clients. */
  readonly differences: readonly string[];
}

const RECORDED_WITHIN_MS = 30_000;

/**
 * Compares the ledger of an account with the calls as its clients saw them. A response has one
 * settled record with the exact charge. Any other call has no record or an uncharged one. No other
 * record exists. The wallet is the credit minus the charges.
 */
export async function compareLedger(
  operator: TestOperator,
  account: string,
  creditUsd: string,
  calls: readonly ClientCall[],
): Promise<Comparison> {
  const answered = calls.filter(({ chargeNanoUsd }) => chargeNanoUsd !== null);
  const records = await recordsOf(operator, account, answered);
  const differences = repeated(records.map(({ requestId }) => requestId)).map((id) => `${id} has two records`);
  const byId = new Map(records.map((record) => [record.requestId, record]));
  for (const call of calls) {
    const difference = differenceOf(call, byId.get(call.requestId));
    if (difference !== null) differences.push(`${call.requestId} ${difference}`);
    byId.delete(call.requestId);
  }
  for (const record of byId.values()) {
    differences.push(`${record.requestId} is ${record.outcome} at ${record.chargedUsd}, and no client made it`);
  }
  const charged = records.reduce((sum, { chargedUsd }) => sum + parseUsd(chargedUsd), 0n);
  const balance = parseUsd((await operator.walletUsd(account)) ?? '0.00');
  if (balance !== parseUsd(creditUsd) - charged) differences.push(`${account} has ${balance} after ${charged}`);
  if (balance < 0n) differences.push(`${account} is below zero: ${balance}`);
  const settled = records.filter(isSettled).length;
  return { settled, uncharged: records.length - settled, differences };
}

/** Waits until all responses have settled records, or for the timeout, and returns the records. */
async function recordsOf(
  operator: TestOperator,
  account: string,
  answered: readonly ClientCall[],
): Promise<UsageRecordView[]> {
  let records: UsageRecordView[] = [];
  const allThere = async (): Promise<boolean> => {
    records = await operator.records(account);
    const settled = new Set(records.filter(isSettled).map(({ requestId }) => requestId));
    return answered.every(({ requestId }) => settled.has(requestId));
  };
  await until('records of all answered calls', allThere, RECORDED_WITHIN_MS).catch(() => undefined);
  return records;
}

function differenceOf({ chargeNanoUsd }: ClientCall, record: UsageRecordView | undefined): string | null {
  if (chargeNanoUsd === null) {
    if (record === undefined) return null;
    return !isSettled(record) && parseUsd(record.chargedUsd) === 0n
      ? null
      : `was not answered and is ${record.outcome} at ${record.chargedUsd}`;
  }
  if (record === undefined) return 'was answered and has no record';
  if (!isSettled(record)) return `was answered and is ${record.outcome}`;
  const charged = parseUsd(record.chargedUsd);
  return charged === chargeNanoUsd ? null : `costs ${chargeNanoUsd} and was charged ${charged}`;
}

function isSettled({ outcome }: UsageRecordView): boolean {
  return outcome === 'settled';
}

function repeated(ids: readonly string[]): string[] {
  return ids.filter((id, index) => ids.indexOf(id) < index);
}

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
