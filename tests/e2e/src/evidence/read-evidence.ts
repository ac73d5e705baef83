import type { UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import pg from 'pg';
import { connectRedis, isEmpty, readLimitStore } from '../../test/limit-store.js';
import type { TestOperator } from '../../test/operator.js';
import type { OwnSystem } from '../../test/own-system.js';
import type { AccountState, Evidence, LedgerTransaction, UsageRecord } from './evidence.js';
import type { PlannedProvider } from '../load/planned-provider.js';

export interface Sources extends Pick<Evidence, 'calls' | 'faults' | 'terms' | 'leaseMs'> {
  readonly system: OwnSystem;
  readonly provider: PlannedProvider;
}

/** After a crash all holds and slots are released within three minutes (docs/protocol.md#i7). */
const QUIET_WITHIN_MS = 180_000;
const RECORDED_WITHIN_MS = 20_000;
const FINANCE_ROLE = 'gateway_finance';

/** Waits until no call is running, or for the timeout, and then reads all logs. */
export async function readEvidence({ system, provider, ...rest }: Sources): Promise<Evidence> {
  const { operator, local } = system;
  const accounts = rest.terms.map(({ account }) => account);
  const redis = connectRedis(local.servers.redis.url);
  const finance = await connectFinance(system);
  try {
    const readStates = async () => Promise.all(accounts.map((account) => readLimitStore(redis, account)));
    // The checker reports anything that is left after the timeout.
    await until(
      'no call is running',
      async () => (await readStates()).every(isEmpty) && provider.running === 0,
      QUIET_WITHIN_MS,
    ).catch(() => undefined);
    const records = await recordsOf(operator, accounts, rest.calls, provider);
    const lastStates = await readStates();
    const { rows: balances } = await finance.query<{ account_id: string; balance_usd: string }>(
      'SELECT account_id, balance_usd FROM finance.wallet_balances_v1 WHERE account_id = ANY ($1)',
      [accounts],
    );
    const viewed = new Map(balances.map((row) => [row.account_id, parseUsd(row.balance_usd)]));
    const states = accounts.map(async (account, index): Promise<AccountState> => ({
      account,
      walletNanoUsd: await walletOf(operator, account),
      viewNanoUsd: viewed.get(account) ?? 0n,
      slots: lastStates[index]?.slots ?? 0,
      holds: lastStates[index]?.holds ?? 0,
      heldSums: lastStates[index]?.heldSums ?? [],
    }));
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

async function connectFinance({ local }: OwnSystem): Promise<pg.Client> {
  const url = new URL(local.servers.postgres.url);
  url.username = FINANCE_ROLE;
  url.password = local.secrets.financePassword;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
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

/** Returns the records of the accounts, with one for each call that reached the provider. */
function recordsOf(
  operator: TestOperator,
  accounts: readonly string[],
  calls: Evidence['calls'],
  provider: PlannedProvider,
): Promise<UsageRecordView[]> {
  const reached = new Set(provider.calls.map(({ n }) => n));
  const needed = calls.flatMap(({ n, requestId }) => (reached.has(n) && requestId !== null ? requestId : []));
  const read = async (): Promise<UsageRecordView[]> => {
    const lists = accounts.map((account) => operator.records(account));
    return (await Promise.all(lists)).flat();
  };
  const isComplete = (records: readonly UsageRecordView[]): boolean => {
    const ids = new Set(records.map(({ requestId }) => requestId));
    return needed.every((id) => ids.has(id));
  };
  return readRecords(read, isComplete, RECORDED_WITHIN_MS);
}

async function walletOf(operator: TestOperator, account: string): Promise<bigint> {
  return parseUsd((await operator.walletUsd(account)) ?? '0.00');
}

interface EntryRow {
  readonly transaction_id: string;
  readonly kind: string;
  readonly account_id: string;
  readonly request_id: string | null;
  readonly ledger_account: string;
  readonly amount_usd: string;
}

async function readLedger(finance: pg.Client, accounts: readonly string[]): Promise<LedgerTransaction[]> {
  const { rows } = await finance.query<EntryRow>(
    `SELECT transaction_id, entry.kind, entry.account_id, request_id, ledger_account, amount_usd
       FROM finance.ledger_entries_v1 entry JOIN finance.ledger_transactions_v1 USING (transaction_id)
      WHERE entry.account_id = ANY ($1) ORDER BY transaction_id, ordinal`,
    [accounts],
  );
  const byId = new Map<string, LedgerTransaction & { entries: LedgerTransaction['entries'][number][] }>();
  for (const row of rows) {
    const transaction = byId.get(row.transaction_id) ?? {
      id: row.transaction_id,
      kind: row.kind,
      account: row.account_id,
      requestId: row.request_id,
      entries: [],
    };
    transaction.entries.push({ ledgerAccount: row.ledger_account, amountNanoUsd: parseUsd(row.amount_usd) });
    byId.set(row.transaction_id, transaction);
  }
  return [...byId.values()];
}

function recordOf(view: UsageRecordView): UsageRecord {
  const { requestId, outcome, evidence, streamed, tokens } = view;
  return {
    requestId,
    outcome,
    evidence,
    streamed,
    account: view.accountId,
    tokens: tokens && { input: tokens.input, output: tokens.output },
    chargedNanoUsd: parseUsd(view.chargedUsd),
    planNanoUsd: parseUsd(view.planUsd),
    walletNanoUsd: parseUsd(view.walletUsd),
    startedAt: Date.parse(view.startedAt),
  };
}
