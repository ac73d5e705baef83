import type { UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { changeUrl } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import pg from 'pg';
import { connectRedis, isEmpty, readLimitStore } from '../../test/limit-store.js';
import type { OwnSystem } from '../../test/own-system.js';
import type { PlannedProvider } from '../load/planned-provider.js';
import type { AccountState, Evidence, LedgerTransaction, UsageRecord } from './evidence.js';

/** After a crash all holds and slots are released within three minutes (docs/protocol.md#i7). */
const QUIET_WITHIN_MS = 180_000;
const RECORDED_WITHIN_MS = 20_000;

/** Waits until no call is running, or for the timeout, and then reads all logs. */
export async function readEvidence(
  { operator, local }: OwnSystem,
  provider: PlannedProvider,
  rest: Pick<Evidence, 'calls' | 'faults' | 'terms' | 'leaseMs'>,
): Promise<Evidence> {
  const accounts = rest.terms.map(({ account }) => account);
  const redis = connectRedis(local.servers.redis.url);
  const financeUser = { username: 'gateway_finance', password: local.secrets.financePassword };
  const finance = new pg.Client(changeUrl(local.servers.postgres.url, (url) => Object.assign(url, financeUser)));
  await finance.connect();
  try {
    const readStores = async () => Promise.all(accounts.map((account) => readLimitStore(redis, account)));
    const isQuiet = async (): Promise<boolean> => (await readStores()).every(isEmpty) && provider.running === 0;
    // The checker reports anything that is left after the timeout.
    await until('no call is running', isQuiet, QUIET_WITHIN_MS).catch(() => undefined);
    // Each call that reached the provider has a record.
    const reached = new Set(provider.calls.map(({ n }) => n));
    const needed = rest.calls.filter(({ n }) => reached.has(n)).flatMap(({ requestId }) => requestId ?? []);
    const records = await readRecords(
      async () => (await Promise.all(accounts.map((account) => operator.records(account)))).flat(),
      (found) => {
        const ids = new Set(found.map(({ requestId }) => requestId));
        return needed.every((id) => ids.has(id));
      },
      RECORDED_WITHIN_MS,
    );
    const { rows } = await finance.query<{ account_id: string; balance_usd: string }>(
      'SELECT account_id, balance_usd FROM finance.wallet_balances_v1 WHERE account_id = ANY ($1)',
      [accounts],
    );
    const viewed = new Map(rows.map((row) => [row.account_id, parseUsd(row.balance_usd)]));
    const states = (await readStores()).map(async ({ slots, holds, heldSums }, index): Promise<AccountState> => {
      const account = accounts[index] ?? '';
      const walletNanoUsd = parseUsd((await operator.walletUsd(account)) ?? '0.00');
      return { account, walletNanoUsd, viewNanoUsd: viewed.get(account) ?? 0n, slots, holds, heldSums };
    });
    return {
      ...rest,
      provider: provider.calls,
      records: records.map(recordOf),
      ledger: await readLedger(finance, accounts),
      accounts: await Promise.all(states),
    };
  } finally {
    redis.disconnect();
    await finance.end();
  }
}

/** Reads usage records until they are complete, or for the timeout, and returns the last result. */
export async function readRecords(
  read: () => Promise<UsageRecordView[]>,
  isComplete: (records: readonly UsageRecordView[]) => boolean,
  timeoutMs: number,
): Promise<UsageRecordView[]> {
  let records: UsageRecordView[] = [];
  const isRead = async (): Promise<boolean> => isComplete((records = await read()));
  await until('all usage records exist', isRead, timeoutMs).catch(() => undefined);
  return records;
}

interface TransactionRow extends Omit<LedgerTransaction, 'entries'> {
  readonly ledgerAccounts: readonly string[];
  readonly amountsUsd: readonly string[];
}

async function readLedger(finance: pg.Client, accounts: readonly string[]): Promise<LedgerTransaction[]> {
  const { rows } = await finance.query<TransactionRow>(
    `SELECT transaction_id AS id, entry.kind, entry.account_id AS account, request_id AS "requestId",
            array_agg(ledger_account::text ORDER BY ordinal) AS "ledgerAccounts",
            array_agg(amount_usd::text ORDER BY ordinal) AS "amountsUsd"
       FROM finance.ledger_entries_v1 entry JOIN finance.ledger_transactions_v1 USING (transaction_id)
      WHERE entry.account_id = ANY ($1) GROUP BY 1, 2, 3, 4 ORDER BY 1`,
    [accounts],
  );
  return rows.map(({ ledgerAccounts, amountsUsd, ...transaction }) => {
    const amounts = amountsUsd.map(parseUsd);
    const entries = ledgerAccounts.map((ledgerAccount, at) => ({ ledgerAccount, amountNanoUsd: amounts[at] ?? 0n }));
    return { ...transaction, entries };
  });
}

function recordOf(view: UsageRecordView): UsageRecord {
  const { requestId, accountId: account, outcome, evidence, streamed, tokens } = view;
  return {
    ...{ requestId, account, outcome, evidence, streamed },
    tokens: tokens && { input: tokens.input, output: tokens.output },
    chargedNanoUsd: parseUsd(view.chargedUsd),
    planNanoUsd: parseUsd(view.planUsd),
    walletNanoUsd: parseUsd(view.walletUsd),
    startedAt: Date.parse(view.startedAt),
  };
}
