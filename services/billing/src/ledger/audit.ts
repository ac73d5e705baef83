import type { Difference, LedgerSnapshot } from './audit-store.js';
import { type ChainSums, verifyChain } from './verify-chain.js';

export interface AuditSums extends ChainSums {
  readonly differences: number;
}

export interface AuditReport {
  begin(check: string): void;
  difference(difference: Difference): void;
}

/**
 * Replays usage records and ledger entries from zero. Compares every balance, window, counter and
 * alert with the result, the tables with each other, and the ledger with its hash chains. Reports
 * each difference and repairs nothing.
 */
export async function auditLedger(snapshot: LedgerSnapshot, report: AuditReport): Promise<AuditSums> {
  let differences = 0;
  const reportDifference = (difference: Difference): void => {
    differences += 1;
    report.difference(difference);
  };
  for await (const difference of snapshot.differences((check) => report.begin(check))) reportDifference(difference);
  report.begin('chain');
  const sums = await verifyChain(snapshot.chain, {
    broken: ({ chain, block, transaction, problem }) =>
      reportDifference({
        check: 'chain',
        subject: `chain ${chain}, block ${block}${transaction === null ? '' : `, transaction ${transaction}`}`,
        expected: 'links that follow from the ledger',
        found: problem,
      }),
  });
  return { ...sums, differences };
}
