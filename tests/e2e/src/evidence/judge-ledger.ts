import type { Evidence, LedgerTransaction, UsageRecord } from './evidence.js';

/** A violation, and the request ID of the record if it concerns one. */
export interface Finding {
  readonly sentence: string;
  readonly requestId: string | null;
}

/** Checks the ledger for consistency, and compares it with the usage records. */
export function judgeLedger({ ledger, records, accounts, terms }: Evidence): Finding[] {
  const findings: Finding[] = [];
  const byRequest = new Map<string, LedgerTransaction[]>();
  for (const transaction of ledger) {
    const sum = total(transaction.entries.map(({ amountNanoUsd }) => amountNanoUsd));
    const { requestId } = transaction;
    if (sum !== 0n) findings.push({ sentence: `transaction ${transaction.id} sums to ${sum}`, requestId });
    if (requestId !== null) byRequest.set(requestId, [...(byRequest.get(requestId) ?? []), transaction]);
  }
  for (const record of records) {
    const sentence = judgeRecord(record, byRequest.get(record.requestId) ?? []);
    if (sentence !== null) findings.push({ sentence, requestId: record.requestId });
    byRequest.delete(record.requestId);
  }
  for (const requestId of byRequest.keys()) {
    findings.push({ sentence: 'is in the ledger and has no record', requestId });
  }
  const ids = new Set<string>();
  for (const { requestId } of records) {
    if (ids.has(requestId)) findings.push({ sentence: 'has two records', requestId });
    ids.add(requestId);
  }
  for (const { account, walletNanoUsd, viewNanoUsd } of accounts) {
    const credit = terms.find((one) => one.account === account)?.creditNanoUsd ?? 0n;
    const entries = ledger.flatMap((one) => one.entries).filter((entry) => entry.ledgerAccount === `wallet:${account}`);
    const balance = total(entries.map(({ amountNanoUsd }) => amountNanoUsd));
    const paid = total(records.filter((one) => one.account === account).map((one) => one.walletNanoUsd));
    if (new Set([walletNanoUsd, viewNanoUsd, balance, credit - paid]).size > 1) {
      const text = `${walletNanoUsd} by the API, ${viewNanoUsd} by the view, ${balance} by its entries`;
      findings.push({ sentence: `wallet of ${account}: ${text}, ${credit - paid} by its records`, requestId: null });
    }
  }
  return findings;
}

/** Checks that wallet and plan paid the record's amounts, including all corrections. */
function judgeRecord(record: UsageRecord, transactions: readonly LedgerTransaction[]): string | null {
  const { account, chargedNanoUsd, walletNanoUsd, planNanoUsd } = record;
  if (walletNanoUsd + planNanoUsd !== chargedNanoUsd) return 'wallet and plan do not make up its charge';
  const entries = transactions.flatMap((transaction) => transaction.entries);
  const from = (ledgerAccount: string): bigint =>
    -total(entries.filter((one) => one.ledgerAccount.startsWith(ledgerAccount)).map((one) => one.amountNanoUsd));
  const [wallet, plan] = [from(`wallet:${account}`), from(`plan:${account}:`)];
  if (wallet !== walletNanoUsd)
    return `took ${walletNanoUsd} from the wallet by its record and ${wallet} by the ledger`;
  return plan === planNanoUsd ? null : `took ${planNanoUsd} from the plan by its record and ${plan} by the ledger`;
}

function total(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
