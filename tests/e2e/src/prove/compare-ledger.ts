import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import type { UsageRecordView } from '@gateway/contracts/operator';
import type { TestOperator } from '../../test/operator.js';

/**
 * What a client knows of one call: the charge is null when it was not admitted, as far as the
 * client can tell.
 */
export interface ClientCall {
  readonly requestId: string;
  readonly chargeNanoUsd: bigint | null;
}

export interface Comparison {
  /** Records with a charge, and those of calls that came to nothing. */
  readonly settled: number;
  readonly uncharged: number;
  /** Sentences; empty when ledger and clients agree. */
  readonly differences: readonly string[];
}

const RECORDED_WITHIN_MS = 30_000;

/**
 * The ledger of an account against what its clients saw: each answered call has one settled record
 * with its exact charge, any other none or one that charges nothing; there is no further record;
 * the wallet is the credit less the charges.
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

/** The records when all that must come have come, or as they are after the time for it. */
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
