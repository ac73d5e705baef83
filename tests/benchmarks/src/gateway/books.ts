import pg from 'pg';

/** State of the ledger after all calls so far. */
export interface LedgerState {
  readonly records: number;
  /** Records charged by the provider's reported usage. Every call must have one. */
  readonly charged: number;
  /** Events that could not become a record. */
  readonly deadLetters: number;
  /**
   * Number of accounts whose wallet is not the credit less the charges, by balance or by ledger
   * entries. Includes the given accounts and all accounts with a charge or a wallet.
   */
  readonly wrongWallets: number;
  /** Sum of all ledger entries, in nano-USD. */
  readonly trialBalance: bigint;
}

const STATEMENT_TIMEOUT_MS = 60_000;

const STATE = `
WITH charges AS (
  SELECT account, sum(wallet_nano_usd) AS charged FROM billing.usage_records GROUP BY account
), wallets AS (
  SELECT substr(ledger_account, length('wallet:') + 1) AS account, abs(sum(amount_nano_usd)) AS balance
    FROM billing.ledger_entries WHERE ledger_account LIKE 'wallet:%' GROUP BY 1
)
SELECT
  (SELECT count(*) FROM billing.usage_records)::int AS "records",
  (SELECT count(*) FROM billing.usage_records
    WHERE outcome = 'settled' AND evidence = 'reported' AND charged_nano_usd > 0)::int AS "charged",
  (SELECT count(*) FROM billing.set_aside_events)::int AS "deadLetters",
  (SELECT count(*) FROM (SELECT unnest($1::text[]) AS account
       UNION SELECT account FROM charges UNION SELECT account FROM wallets) given
     LEFT JOIN charges USING (account)
     LEFT JOIN wallets USING (account)
     LEFT JOIN billing.standing_rows standing ON standing.account = given.account AND standing.name = 'wallet'
    WHERE standing.value IS DISTINCT FROM $2::bigint - coalesce(charges.charged, 0)
       OR wallets.balance IS DISTINCT FROM $2::bigint - coalesce(charges.charged, 0))::int AS "wrongWallets",
  (SELECT coalesce(sum(amount_nano_usd), 0) FROM billing.ledger_entries)::text AS "trialBalance"`;

/** Reads billing's tables directly, because the audited service must not be the auditor. */
export class Books {
  private constructor(
    private readonly client: pg.Client,
    /** The database process of the audit. Its CPU is not the gateway's. */
    readonly backendPid: number,
  ) {}

  static async open(postgresUrl: string): Promise<Books> {
    const client = new pg.Client({ connectionString: postgresUrl, query_timeout: STATEMENT_TIMEOUT_MS });
    // The server ends before this connection when a run is aborted.
    client.on('error', () => undefined);
    await client.connect();
    // Parallel workers would count as CPU of the gateway.
    await client.query('SET max_parallel_workers_per_gather = 0');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return new Books(client, rows[0]?.pid ?? 0);
  }

  async records(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>('SELECT count(*)::int AS n FROM billing.usage_records');
    return rows[0]?.n ?? 0;
  }

  async read(accounts: readonly string[], creditNanoUsd: bigint): Promise<LedgerState> {
    const { rows } = await this.client.query<LedgerState>(STATE, [accounts, creditNanoUsd.toString()]);
    const [row] = rows;
    if (row === undefined) throw new Error('the query of the books returned no row');
    return { ...row, trialBalance: BigInt(row.trialBalance) };
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

/**
 * Returns the problems of the books after `answered` complete responses. Empty if every call is
 * billed exactly once.
 * @param unanswered calls without a complete response, each of which may have left one record or
 * none
 */
export function findProblems(state: LedgerState, answered: number, unanswered = 0): string[] {
  const problems: string[] = [];
  const isWrong = (records: number): boolean => records < answered || records > answered + unanswered;
  const calls = `${answered} answered calls${unanswered === 0 ? '' : ` and ${unanswered} others`}`;
  if (isWrong(state.records)) problems.push(`${state.records} usage records for ${calls}`);
  if (isWrong(state.charged)) problems.push(`${state.charged} charged records for ${calls}`);
  if (state.deadLetters > 0) problems.push(`${state.deadLetters} events are dead letters`);
  if (state.wrongWallets > 0) problems.push(`${state.wrongWallets} wallets differ from credit less charges`);
  if (state.trialBalance !== 0n) problems.push(`the ledger's entries sum to ${state.trialBalance}`);
  return problems;
}
