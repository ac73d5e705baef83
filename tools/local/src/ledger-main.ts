// `npm run ledger [-- <request id>] [--state DIR]`: prints the cost of a request and its ledger
// entries in the local system.
import { parseArgs } from 'node:util';
import type { Bus } from '@gateway/bus';
import {
  accountsListAccounts,
  billingUsageRecord,
  billingUsageRecords,
  billingWallet,
} from '@gateway/contracts/messages';
import type { UsageRecordView } from '@gateway/contracts/operator';
import { requireAccepted, withBus } from './demo/seed-demo.js';
import { readRunning } from './running-file.js';

const { values, positionals } = parseArgs({ options: { state: { type: 'string' } }, allowPositionals: true });
const wanted = positionals[0];

const { running } = readRunning(values.state);
const isFound = await withBus(running.natsUrl, `ledger-${process.pid}`, (bus) =>
  wanted === undefined ? showAccounts(bus) : showCall(bus, wanted),
);
process.exit(isFound ? 0 : 1);

async function showAccounts(bus: Bus): Promise<boolean> {
  const { accounts } = requireAccepted(await bus.request(accountsListAccounts, { cursor: null, limit: 20 }));
  for (const account of accounts) {
    const { balanceUsd } = await bus.request(billingWallet, { account: account.id });
    console.log(`account ${account.id} "${account.name}": wallet ${balanceUsd === null ? 'none' : `$${balanceUsd}`}`);
    const page = { account: account.id, from: null, to: null, cursor: null, limit: 20 };
    const { records } = requireAccepted(await bus.request(billingUsageRecords, page));
    for (const record of records) console.log(`  ${summary(record)}`);
    if (records.length === 0) console.log('  no requests yet');
  }
  return true;
}

async function showCall(bus: Bus, requestId: string): Promise<boolean> {
  const answer = await bus.request(billingUsageRecord, { requestId });
  if ('refused' in answer) {
    console.error(
      `${answer.refused.message} (a request is recorded after it has ended; refused requests have no record)`,
    );
    return false;
  }
  console.log(JSON.stringify(answer.record, null, 2));
  for (const transaction of answer.transactions) {
    console.log(`\nledger transaction ${transaction.id} (${transaction.kind}, ${transaction.at})`);
    for (const entry of transaction.entries) console.log(`  ${entry.amountUsd.padStart(16)}  ${entry.ledgerAccount}`);
  }
  return true;
}

function summary(record: UsageRecordView): string {
  const tokens = record.tokens === null ? 'no tokens' : `${record.tokens.input} in, ${record.tokens.output} out`;
  return `${record.startedAt}  ${record.requestId}  ${record.modelId}  ${tokens}  ${record.outcome}  $${record.chargedUsd}`;
}
