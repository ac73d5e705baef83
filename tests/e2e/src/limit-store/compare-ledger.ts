import type { UsageRecordView } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';
import { errorCode } from '../../test/call.js';
import type { ClientResult } from '../../test/load.js';
import type { TestOperator } from '../../test/operator.js';
import { type FaultSpan, isDuringFault, isFaultAnswer } from '../evidence/judge-call.js';
import { readRecords } from '../evidence/read-evidence.js';

/** One call as its client saw it. The charge is null if the client did not see it admitted. */
export interface ClientCall {
  readonly requestId: string;
  readonly chargeNanoUsd: bigint | null;
}

export interface Comparison {
  readonly settled: number;
  readonly uncharged: number;
  readonly expired: number;
  readonly differences: readonly string[];
}

const RECORDED_WITHIN_MS = 60_000;

/**
 * Compares the ledger of an account with the calls as its clients saw them. A response has one
 * settled record with the exact charge. Any other call has no record or an uncharged one. No other
 * record exists. The wallet is the credit minus the charges.
 *
 * @param creditUsd null: the account never had credit, and a plan pays for all calls
 */
export async function compareLedger(
  operator: TestOperator,
  account: string,
  creditUsd: string | null,
  calls: readonly ClientCall[],
): Promise<Comparison> {
  const answered = calls.filter(({ chargeNanoUsd }) => chargeNanoUsd !== null);
  const isComplete = (all: readonly UsageRecordView[]): boolean => {
    const ids = new Set(all.filter(isSettled).map(({ requestId }) => requestId));
    return answered.every(({ requestId }) => ids.has(requestId));
  };
  const records = await readRecords(() => operator.records(account), isComplete, RECORDED_WITHIN_MS);
  const differences: string[] = [];
  const byId = new Map(records.map((record) => [record.requestId, record]));
  if (byId.size !== records.length) differences.push(`${account} has two records with one ID`);
  for (const call of calls) {
    const difference = differenceOf(call, byId.get(call.requestId));
    if (difference !== null) differences.push(`${call.requestId} ${difference}`);
    byId.delete(call.requestId);
  }
  for (const record of byId.values()) {
    differences.push(`${record.requestId} is ${record.outcome} at ${record.chargedUsd}, and no client made it`);
  }
  const sum = (of: 'chargedUsd' | 'walletUsd'): bigint =>
    records.reduce((all, record) => all + parseUsd(record[of]), 0n);
  const paid = sum('walletUsd');
  if (paid !== (creditUsd === null ? 0n : sum('chargedUsd'))) differences.push(`the wallet of ${account} paid ${paid}`);
  const left = creditUsd === null ? null : formatUsd(parseUsd(creditUsd) - paid);
  const balance = await operator.walletUsd(account);
  if (balance !== left) differences.push(`the wallet of ${account} has ${balance} instead of ${left}`);
  if (parseUsd(balance ?? '0.00') < 0n) differences.push(`${account} is below zero: ${balance}`);
  const settled = records.filter(isSettled).length;
  const expired = records.filter(({ outcome }) => outcome === 'expired').length;
  return { settled, expired, uncharged: records.length - settled, differences };
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

/** Describes the responses that are neither expected nor a 500 that one of the faults explains. */
export function wrongAnswers(
  seen: readonly ClientResult[],
  expected: readonly string[],
  faults: readonly FaultSpan[],
): string[] {
  const wrong = seen.filter((call) => {
    const span = { begunAt: Date.parse(call.begunAt), endedAt: Date.parse(call.endedAt) };
    return !expected.includes(answerOf(call)) && !(isFaultResult(call) && isDuringFault(span, faults));
  });
  return wrong.map((call) => `${call.requestId ?? 'a call'} got ${answerOf(call)}: ${call.body.slice(0, 200)}`);
}

export function isFaultResult({ status, body }: ClientResult): boolean {
  return isFaultAnswer({ status, code: errorCode(body) });
}

function answerOf({ status, complete, body }: ClientResult): string {
  if (status === null) return 'no response';
  if (status === 200) return complete ? '200' : '200 cut';
  return `${status} ${errorCode(body)}`;
}
