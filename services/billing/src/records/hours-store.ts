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

/** Sums of the settled calls of one hour with the same key, member and model. */
interface HourSums {
  readonly account: string;
  readonly hourMs: number;
  readonly key: string;
  readonly member: string;
  readonly model: string;
  calls: number;
  input: number;
  cachedInput: number;
  cacheWrite: number;
  cacheWrite1h: number;
  output: number;
  plan: bigint;
  wallet: bigint;
  /** Calls that the wallet paid in full or in part. */
  walletCalls: number;
}

/** Adds new records to the hours of their calls. The caller holds the locks of their accounts. */
export async function addToHours(tx: Tx, records: readonly UsageRecord[]): Promise<void> {
  const sums = sumByHour(records);
  if (sums.length === 0) return;
  await tx.execute(
    `INSERT INTO usage_hours AS kept (account, hour_ms, key_id, member_id, model_id, calls, input_tokens,
                                      cached_input_tokens, cache_write_tokens, output_tokens, plan_nano_usd, wallet_nano_usd,
                                      wallet_calls, cache_write_1h_tokens)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
                          $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
     ON CONFLICT (account, hour_ms, key_id, member_id, model_id) DO UPDATE
       SET calls = kept.calls + excluded.calls, input_tokens = kept.input_tokens + excluded.input_tokens,
           cached_input_tokens = kept.cached_input_tokens + excluded.cached_input_tokens,
           cache_write_tokens = kept.cache_write_tokens + excluded.cache_write_tokens,
           cache_write_1h_tokens = kept.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
           output_tokens = kept.output_tokens + excluded.output_tokens,
           plan_nano_usd = kept.plan_nano_usd + excluded.plan_nano_usd,
           wallet_nano_usd = kept.wallet_nano_usd + excluded.wallet_nano_usd,
           wallet_calls = kept.wallet_calls + excluded.wallet_calls`,
    [
      texts(sums.map(({ account }) => account)),
      int8s(sums.map(({ hourMs }) => hourMs)),
      texts(sums.map(({ key }) => key)),
      texts(sums.map(({ member }) => member)),
      texts(sums.map(({ model }) => model)),
      int8s(sums.map(({ calls }) => calls)),
      int8s(sums.map(({ input }) => input)),
      int8s(sums.map(({ cachedInput }) => cachedInput)),
      int8s(sums.map(({ cacheWrite }) => cacheWrite)),
      int8s(sums.map(({ output }) => output)),
      int8s(sums.map(({ plan }) => plan)),
      int8s(sums.map(({ wallet }) => wallet)),
      int8s(sums.map(({ walletCalls }) => walletCalls)),
      int8s(sums.map(({ cacheWrite1h }) => cacheWrite1h)),
    ],
    { name: 'add_to_hours' },
  );
}

/**
 * Sums the settled records. Nothing has to be subtracted: a settled record is never replaced, and a
 * replaced record was never settled.
 */
function sumByHour(records: readonly UsageRecord[]): HourSums[] {
  const sums = new Map<string, HourSums>();
  for (const record of records) {
    if (record.outcome !== 'settled') continue;
    const { account, key, member, model, usage } = record;
    const time = timeOfUuidV7(record.id);
    const hourMs = time - (time % HOUR_MS);
    const name = `${account} ${hourMs} ${key} ${member} ${model}`;
    let sum = sums.get(name);
    if (sum === undefined) {
      const nothing = {
        calls: 0,
        input: 0,
        cachedInput: 0,
        cacheWrite: 0,
        cacheWrite1h: 0,
        output: 0,
        plan: 0n,
        wallet: 0n,
        walletCalls: 0,
      };
      sum = { account, hourMs, key, member, model, ...nothing };
      sums.set(name, sum);
    }
    sum.calls += 1;
    sum.plan += record.planNanoUsd;
    sum.wallet += record.walletNanoUsd;
    if (record.walletNanoUsd > 0n) sum.walletCalls += 1;
    if (usage === null) continue;
    sum.input += usage.input;
    sum.cachedInput += usage.cachedInput;
    sum.cacheWrite += usage.cacheWrite;
    sum.cacheWrite1h += usage.cacheWrite1h;
    sum.output += usage.output;
  }
  return [...sums.values()];
}

const GROUP_COLUMNS = { none: `''`, model: 'model_id', key: 'key_id', member: 'member_id' } as const;
const SUMS = [
  'calls',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'plan',
  'wallet',
];
const SUMMED = SUMS.map((name) => `sum(${name})::bigint AS ${name}`).join(', ');

interface SummedRow {
  start: bigint;
  name: string | null;
  place: bigint;
  calls: bigint;
  input_tokens: bigint;
  cached_input_tokens: bigint;
  cache_write_tokens: bigint;
  cache_write_1h_tokens: bigint;
  output_tokens: bigint;
  plan: bigint;
  wallet: bigint;
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
        'SELECT name, value FROM standing_rows WHERE account = $1 AND name = ANY ($2::text[])',
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
      SELECT hour_ms / $4 * $4 AS start, ${GROUP_COLUMNS[groupBy]} AS name, sum(calls) AS calls,
             sum(input_tokens) AS input_tokens, sum(cached_input_tokens) AS cached_input_tokens,
             sum(cache_write_tokens) AS cache_write_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
             sum(output_tokens) AS output_tokens,
             sum(plan_nano_usd) AS plan, sum(wallet_nano_usd) AS wallet
        FROM usage_hours
       WHERE account = $1 AND hour_ms >= $2 AND hour_ms < $3 AND ($5::text IS NULL OR key_id = $5)
         AND ($6::text IS NULL OR model_id = $6) AND ($7::text IS NULL OR member_id = $7)
       GROUP BY 1, 2
    ), placed AS (
      SELECT name, least(row_number() OVER (ORDER BY sum(plan + wallet) DESC, sum(calls) DESC, name), $8::bigint + 1) AS place
        FROM used GROUP BY name
    )
    SELECT start, CASE WHEN place <= $8 THEN name END AS name, place, ${SUMMED}
      FROM used JOIN placed USING (name) GROUP BY 1, 2, 3 ORDER BY 1, sum(plan + wallet) DESC, 3`;
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
    chargedNanoUsd: Number(row.plan + row.wallet),
    planNanoUsd: Number(row.plan),
    walletNanoUsd: Number(row.wallet),
  };
}
