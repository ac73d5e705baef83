import type { AnswerOf, billingUsageSeries } from '@gateway/contracts/messages';
import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { int8s, texts } from '../ledger/array-sql.js';
import { HOUR_MS, ID_TIME_MS_MAX, accountCondition } from '../ledger/sql.js';
import { OUTCOME_CODES } from './columns-sql.js';
import type { UsageRecord } from './rules.js';

export type SeriesRow = Extract<AnswerOf<typeof billingUsageSeries>, { rows: unknown }>['rows'][number];

/** The filter of a series. Times are epoch milliseconds in whole hours: [from, to). */
export interface SeriesQuery {
  readonly account: string;
  readonly from: number;
  readonly to: number;
  /** Length of one point: an hour or a day. */
  readonly stepMs: number;
  readonly groupBy: 'none' | 'model' | 'key' | 'member';
  readonly key: string | null;
  readonly model: string | null;
  readonly member: string | null;
  /** Maximum of groups with their own rows: the groups with the highest charges. */
  readonly groupsMax: number;
}

/**
 * A row of a series with the rank of its group; 1 has the highest charge. All groups above
 * `groupsMax` are one group.
 */
export type RankedRow = SeriesRow & { readonly place: number };

/** Calls that were not billed, by outcome. */
export interface UnbilledCalls {
  readonly voided: number;
  readonly expired: number;
}

/** The sums of an hour: their columns of `usage_hours`, and the part of one settled record. */
const HOUR_SUMS = {
  calls: () => 1n,
  input_tokens: ({ usage }) => BigInt(usage?.input ?? 0),
  cached_input_tokens: ({ usage }) => BigInt(usage?.cachedInput ?? 0),
  cache_write_tokens: ({ usage }) => BigInt(usage?.cacheWrite ?? 0),
  cache_write_1h_tokens: ({ usage }) => BigInt(usage?.cacheWrite1h ?? 0),
  output_tokens: ({ usage }) => BigInt(usage?.output ?? 0),
  plan_nano_usd: ({ planNanoUsd }) => planNanoUsd,
  wallet_nano_usd: ({ walletNanoUsd }) => walletNanoUsd,
  /** Calls that the wallet paid in full or in part. */
  wallet_calls: ({ walletNanoUsd }) => (walletNanoUsd > 0n ? 1n : 0n),
} satisfies Readonly<Record<string, (record: UsageRecord) => bigint>>;
const SUM_NAMES = Object.keys(HOUR_SUMS);
const SUM_PARTS = Object.values(HOUR_SUMS);

/** The settled calls of one hour with the same key, member and model. */
interface HourOfUse {
  readonly record: UsageRecord;
  readonly hourMs: number;
  /** In the order of {@link HOUR_SUMS}. */
  readonly sums: bigint[];
}

const HOUR_KEY = 'account, hour_ms, key_id, member_id, model_id';
const HOUR_KEY_ARRAYS = '$1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]';
const SUM_ARRAYS = SUM_NAMES.map((_name, index) => `$${6 + index}::bigint[]`).join(', ');
const ADD_TO_HOURS = `
  INSERT INTO usage_hours AS kept (${HOUR_KEY}, ${SUM_NAMES.join(', ')})
  SELECT * FROM unnest(${HOUR_KEY_ARRAYS}, ${SUM_ARRAYS})
  ON CONFLICT (${HOUR_KEY}) DO UPDATE SET ${SUM_NAMES.map((name) => `${name} = kept.${name} + excluded.${name}`).join(', ')}`;

/** Adds new records to the hours of their calls. The caller holds the locks of their accounts. */
export async function addToHours(tx: Tx, records: readonly UsageRecord[]): Promise<void> {
  const hours = sumByHour(records);
  if (hours.length === 0) return;
  await tx.execute(
    ADD_TO_HOURS,
    [
      texts(hours.map(({ record }) => record.account)),
      int8s(hours.map(({ hourMs }) => hourMs)),
      texts(hours.map(({ record }) => record.key)),
      texts(hours.map(({ record }) => record.member)),
      texts(hours.map(({ record }) => record.model)),
      ...SUM_NAMES.map((_name, index) => int8s(hours.map(({ sums }) => sums[index] as bigint))),
    ],
    { name: 'add_to_hours' },
  );
}

/**
 * Sums the settled records. Nothing has to be subtracted: a settled record is never replaced, and a
 * replaced record was never settled.
 */
function sumByHour(records: readonly UsageRecord[]): HourOfUse[] {
  const hours = new Map<string, HourOfUse>();
  for (const record of records) {
    if (record.outcome !== 'settled') continue;
    const time = timeOfUuidV7(record.id);
    const hourMs = time - (time % HOUR_MS);
    const name = `${record.account} ${hourMs} ${record.key} ${record.member} ${record.model}`;
    const parts = SUM_PARTS.map((partOf) => partOf(record));
    const hour = hours.get(name);
    if (hour === undefined) hours.set(name, { record, hourMs, sums: parts });
    else for (const [index, part] of parts.entries()) hour.sums[index] = (hour.sums[index] as bigint) + part;
  }
  return [...hours.values()];
}

const GROUP_COLUMNS = { none: `''`, model: 'model_id', key: 'key_id', member: 'member_id' } as const;
const SUMMED = SUM_NAMES.map((name) => `sum(${name})::bigint AS ${name}`).join(', ');

interface SummedRow extends Readonly<Record<keyof typeof HOUR_SUMS, bigint>> {
  readonly start: bigint;
  readonly name: string | null;
  readonly place: bigint;
}

export type UsageHoursStore = ReturnType<typeof createUsageHoursStore>;

export function createUsageHoursStore(pool: Pool) {
  return {
    /** Ordered by start time, then by charge, the largest first. */
    series: (query: SeriesQuery): Promise<RankedRow[]> =>
      inTransaction(
        pool,
        async (tx) => {
          await tx.execute(SUM_IN_MEMORY);
          const rows = await tx.query<SummedRow>(seriesSql(query.groupBy), valuesOf(query));
          return rows.map((row) => toPlacedRow(row, query));
        },
        { readOnly: true },
      ),
    /** Returns the account's balances with the given names. */
    balances: (account: string, names: readonly string[]): Promise<{ name: string; value: bigint }[]> =>
      onPool(pool).query<{ name: string; value: bigint }>(
        'SELECT name, value FROM balances WHERE account = $1 AND name = ANY ($2::text[])',
        [account, names],
      ),
    /** Counts the calls that a series with this filter leaves out. */
    async unbilled({ account, from, to, key, model, member }: SeriesQuery): Promise<UnbilledCalls> {
      const rows = await onPool(pool).query<{ outcome: string; calls: bigint }>(UNBILLED_SQL, [
        account,
        from,
        Math.min(to, ID_TIME_MS_MAX),
        key,
        model,
        member,
      ]);
      const of = (name: string): number => Number(rows.find(({ outcome }) => outcome === name)?.calls ?? 0);
      return { voided: of('voided'), expired: of('expired') };
    },
  };
}

/** Repeats the condition of the index `call_records_unsettled`, which has few records. */
const UNBILLED_SQL = `
  SELECT outcome, count(*) AS calls FROM usage_records
   WHERE ${accountCondition('$1')}
     AND outcome_code IN (${OUTCOME_CODES.voided}, ${OUTCOME_CODES.expired}) AND outcome_code <> ${OUTCOME_CODES.settled}
     AND id >= uuid_floor($2::bigint) AND id < uuid_floor($3::bigint) AND ($4::text IS NULL OR key_id = $4)
     AND ($5::text IS NULL OR model_id = $5) AND ($6::text IS NULL OR member_id = $6)
   GROUP BY 1`;

/** Enough for the longest series. With less, the server would sort all hours on disk. */
const SUM_IN_MEMORY = `SET LOCAL work_mem = '64MB'`;

function seriesSql(groupBy: SeriesQuery['groupBy']): string {
  return `
    WITH used AS MATERIALIZED (
      SELECT hour_ms / $4 * $4 AS start, ${GROUP_COLUMNS[groupBy]} AS name, ${SUMMED}
        FROM usage_hours
       WHERE account = $1 AND hour_ms >= $2 AND hour_ms < $3 AND ($5::text IS NULL OR key_id = $5)
         AND ($6::text IS NULL OR model_id = $6) AND ($7::text IS NULL OR member_id = $7)
       GROUP BY 1, 2
    ), placed AS (
      SELECT name, least(row_number() OVER (ORDER BY sum(plan_nano_usd + wallet_nano_usd) DESC, sum(calls) DESC, name), $8::bigint + 1) AS place
        FROM used GROUP BY name
    )
    SELECT start, CASE WHEN place <= $8 THEN name END AS name, place, ${SUMMED}
      FROM used JOIN placed USING (name) GROUP BY 1, 2, 3 ORDER BY 1, sum(plan_nano_usd + wallet_nano_usd) DESC, 3`;
}

function valuesOf({ account, from, to, stepMs, key, model, member, groupsMax }: SeriesQuery): unknown[] {
  return [account, from, to, stepMs, key, model, member, groupsMax];
}

function toPlacedRow(row: SummedRow, { groupBy }: SeriesQuery): RankedRow {
  return {
    start: Number(row.start),
    group: groupBy === 'none' ? null : row.name,
    place: Number(row.place),
    calls: Number(row.calls),
    inputTokens: Number(row.input_tokens),
    cachedInputTokens: Number(row.cached_input_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    cacheWrite1hTokens: Number(row.cache_write_1h_tokens),
    outputTokens: Number(row.output_tokens),
    chargedNanoUsd: Number(row.plan_nano_usd + row.wallet_nano_usd),
    planNanoUsd: Number(row.plan_nano_usd),
    walletNanoUsd: Number(row.wallet_nano_usd),
  };
}
