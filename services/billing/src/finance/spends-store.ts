import type { Tx } from '@gateway/postgres';

export interface Spend {
  readonly calls: number;
  readonly chargedNanoUsd: bigint;
  readonly planNanoUsd: bigint;
  readonly walletNanoUsd: bigint;
}

export type SpendLine = Spend & { readonly id: string };

/** The largest lines of a list, and the number and sum of the omitted lines. */
export interface SpendList {
  readonly lines: readonly SpendLine[];
  readonly omitted: Spend & { readonly entries: number };
}

/** The sums of a month's calls, and the largest lines of each list. */
export interface Spends {
  readonly usage: Spend;
  readonly byKey: SpendList;
  readonly byMember: SpendList;
  readonly byModel: SpendList;
}

export interface StatementLinesQuery {
  readonly account: string;
  /** Epoch milliseconds, [from, to). */
  readonly from: number;
  readonly to: number;
  readonly by: 'key' | 'member' | 'model';
  /** Only the calls of this key or member; null: all calls. */
  readonly key: string | null;
  readonly member: string | null;
  /** Only IDs above this one. */
  readonly after: string | null;
  readonly limit: number;
}

/** The calls of an account in [from, to), whole hours in epoch milliseconds. */
export type SpendBounds = Pick<StatementLinesQuery, 'account' | 'from' | 'to'>;

const SUMS = `sum(calls)::bigint AS calls, sum(plan_nano_usd + wallet_nano_usd) AS charged, sum(plan_nano_usd) AS plan,
  sum(wallet_nano_usd) AS wallet`;
const NO_SPEND: Spend = { calls: 0, chargedNanoUsd: 0n, planNanoUsd: 0n, walletNanoUsd: 0n };
const LINE_COLUMNS = { key: 'key_id', member: 'member_id', model: 'model_id' } as const;

/** Sums settled calls, since others cost nothing, and returns the largest lines of each list. */
export async function readSpends(tx: Tx, { account, from, to }: SpendBounds, linesMax: number): Promise<Spends> {
  const rows = await tx.query<SummedRow & Pick<SpendRow, 'by'> & { entries: bigint }>(
    `WITH used AS MATERIALIZED (
       SELECT key_id, member_id, model_id, sum(calls) AS calls, sum(plan_nano_usd) AS plan_nano_usd,
              sum(wallet_nano_usd) AS wallet_nano_usd
         FROM usage_hours WHERE account = $1 AND hour_ms >= $2 AND hour_ms < $3 GROUP BY 1, 2, 3
     )
     SELECT * FROM (
       SELECT grouped.*, count(*) OVER (PARTITION BY by) AS entries,
              row_number() OVER (PARTITION BY by ORDER BY charged DESC, id) AS place
         FROM (SELECT CASE grouping(key_id, member_id, model_id) WHEN 3 THEN 'key' WHEN 5 THEN 'member' WHEN 6 THEN 'model'
                        ELSE 'all' END AS by,
                      coalesce(key_id, member_id, model_id, '') AS id, ${SUMS}
                 FROM used
                GROUP BY GROUPING SETS ((key_id), (member_id), (model_id), ())
               HAVING sum(calls) > 0) grouped) placed
      WHERE place <= $4 ORDER BY by, place`,
    [account, from, to, linesMax],
  );
  const spends = rows.map((row) => ({ by: row.by, entries: Number(row.entries), ...lineFromRow(row) }));
  const usage = spends.find(({ by }) => by === 'all') ?? NO_SPEND;
  const listBy = (wanted: SpendRow['by']): SpendList =>
    buildSpendList(
      spends.filter(({ by }) => by === wanted),
      usage,
    );
  return { usage, byKey: listBy('key'), byMember: listBy('member'), byModel: listBy('model') };
}

/** Returns all lines of a list by ID, page by page. */
export async function readLines(tx: Tx, query: StatementLinesQuery): Promise<SpendLine[]> {
  const { account, from, to, key, member, after, limit } = query;
  const column = LINE_COLUMNS[query.by];
  const rows = await tx.query<SummedRow>(
    `SELECT ${column} COLLATE "C" AS id, ${SUMS} FROM usage_hours
      WHERE account = $1 AND hour_ms >= $2 AND hour_ms < $3
        AND ($4::text IS NULL OR key_id = $4) AND ($5::text IS NULL OR member_id = $5)
        AND ($6::text IS NULL OR ${column} COLLATE "C" > $6)
      GROUP BY 1 ORDER BY 1 LIMIT $7`,
    [account, from, to, key, member, after, limit],
  );
  return rows.map(lineFromRow);
}

interface SpendRow extends SpendLine {
  readonly by: 'all' | 'key' | 'member' | 'model';
  /** Total number of lines in the list. */
  readonly entries: number;
}

/**
 * Computes the omitted lines. Every call counts once in each list, so the omitted amount is the
 * total minus the shown lines.
 */
function buildSpendList(rows: readonly SpendRow[], usage: Spend): SpendList {
  const shown = rows.reduce((sum, row) => minus(sum, row), usage);
  return {
    lines: rows.map(({ id, calls, chargedNanoUsd, planNanoUsd, walletNanoUsd }) => ({
      id,
      calls,
      chargedNanoUsd,
      planNanoUsd,
      walletNanoUsd,
    })),
    omitted: { entries: (rows[0]?.entries ?? 0) - rows.length, ...shown },
  };
}

function minus(from: Spend, spend: Spend): Spend {
  return {
    calls: from.calls - spend.calls,
    chargedNanoUsd: from.chargedNanoUsd - spend.chargedNanoUsd,
    planNanoUsd: from.planNanoUsd - spend.planNanoUsd,
    walletNanoUsd: from.walletNanoUsd - spend.walletNanoUsd,
  };
}

/** Sums of bigint have the type numeric, which the driver returns as text. */
type SummedRow = Record<'id' | 'plan' | 'wallet' | 'charged', string> & { readonly calls: bigint };

function lineFromRow({ id, calls, charged, plan, wallet }: SummedRow): SpendLine {
  return {
    id,
    calls: Number(calls),
    chargedNanoUsd: BigInt(charged),
    planNanoUsd: BigInt(plan),
    walletNanoUsd: BigInt(wallet),
  };
}
