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
) {
  const answered = calls.filter(({ chargeNanoUsd }) => chargeNanoUsd !== null);
  const isComplete = (all: readonly UsageRecordView[]): boolean => {
    const ids = new Set(all.filter(isSettled).map(({ requestId }) => requestId));
    return answered.every(({ requestId }) => ids.has(requestId));
  };
  const records = await readRecords(() => operator.records(account), isComplete, RECORDED_WITHIN_MS);
  const differences: string[] = [];
  const byId = new Map(records.map((record) => [record.requestId, record]));
  if (byId.size !== records.length) differences.push(`${account} has two records with one ID`);
  for (const { requestId, chargeNanoUsd } of calls) {
    const record = byId.get(requestId);
    const isCorrect =
      chargeNanoUsd === null
        ? record === undefined || (!isSettled(record) && parseUsd(record.chargedUsd) === 0n)
        : record !== undefined && isSettled(record) && parseUsd(record.chargedUsd) === chargeNanoUsd;
    const wanted = chargeNanoUsd === null ? 'was not answered' : `was answered and costs ${chargeNanoUsd}`;
    if (!isCorrect) differences.push(`${requestId} ${wanted}, and has the record ${describe(record)}`);
    byId.delete(requestId);
  }
  for (const record of byId.values()) {
    differences.push(`${record.requestId} has the record ${describe(record)}, and no client made it`);
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

function describe(record: UsageRecordView | undefined): string {
  return record === undefined ? 'none' : `${record.outcome} at ${record.chargedUsd}`;
}

function isSettled({ outcome }: UsageRecordView): boolean {
  return outcome === 'settled';
}

/** Describes the responses that are neither expected nor a 500 that the fault explains. */
export function wrongAnswers(seen: readonly ClientResult[], expected: string, fault: FaultSpan): string[] {
  return seen.flatMap((call) => {
    const { requestId, status, complete, body } = call;
    const answer = status === 200 ? (complete ? '200' : '200 cut') : `${status} ${errorCode(body)}`;
    const span = { begunAt: Date.parse(call.begunAt), endedAt: Date.parse(call.endedAt) };
    if (answer === expected || (isFaultResult(call) && isDuringFault(span, [fault]))) return [];
    return `${requestId ?? 'a call'} got ${answer}: ${body.slice(0, 200)}`;
  });
}

export function isFaultResult({ status, body }: ClientResult): boolean {
  return isFaultAnswer({ status, code: errorCode(body) });
}
