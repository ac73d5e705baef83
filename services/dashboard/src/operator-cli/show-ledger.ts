import type { AccountView, LedgerTransactionView, UsageRecordView } from '@gateway/contracts/operator';
import type { OperatorApi } from './operator-api.js';
import { readOptions, UsageError, type Output, type Program } from './program.js';

/** Accounts, and requests of each, that are listed without a request ID. */
const SHOWN_MAX = 20;

/**
 * `ledger show`: prints the usage record of a request and its ledger transactions; without an ID,
 * the newest accounts with their wallets and last requests.
 */
export const SHOW_LEDGER: Program = {
  name: ['ledger', 'show'],
  form: 'ledger show [request ID]     the cost of a request and its ledger entries; accounts and their last requests',
  async run({ words: [requestId, ...others], fields, api, to }) {
    readOptions(fields, { flags: [], values: [] });
    if (others.length > 0) throw new UsageError('name one request');
    if (requestId === undefined) await showAccounts(api, to);
    else await showRequest(api, requestId, to);
    return 0;
  },
};

async function showAccounts(api: OperatorApi, to: Output): Promise<void> {
  for (const { id, name } of await api.first<AccountView>('/accounts', {}, SHOWN_MAX)) {
    const { balanceUsd } = await api.get<{ balanceUsd: string | null }>(`/accounts/${id}/wallet`);
    to.out(`account ${id} "${name}": wallet ${balanceUsd === null ? 'none' : `$${balanceUsd}`}\n`);
    const records = await api.first<UsageRecordView>('/usage-records', { accountId: id }, SHOWN_MAX);
    for (const record of records) to.out(`  ${summary(record)}\n`);
    if (records.length === 0) to.out('  no requests yet\n');
  }
}

async function showRequest(api: OperatorApi, requestId: string, to: Output): Promise<void> {
  const { transactions, ...record } = await api.get<
    UsageRecordView & { readonly transactions: readonly LedgerTransactionView[] }
  >(`/usage-records/${encodeURIComponent(requestId)}`);
  to.out(`${JSON.stringify(record, null, 2)}\n`);
  for (const { id, kind, at, entries } of transactions) {
    to.out(`\nledger transaction ${id} (${kind}, ${at})\n`);
    for (const entry of entries) to.out(`  ${entry.amountUsd.padStart(16)}  ${entry.ledgerAccount}\n`);
  }
}

function summary({ startedAt, requestId, modelId, tokens, outcome, chargedUsd }: UsageRecordView): string {
  const counts = tokens === null ? 'no tokens' : `${tokens.input} in, ${tokens.output} out`;
  return `${startedAt}  ${requestId}  ${modelId}  ${counts}  ${outcome}  $${chargedUsd}`;
}
