import {
  type AnswerBodyOf,
  type billingKeyMonths,
  type billingUsageSeries,
  OTHER_GROUP,
  type ReceivedOf,
  SERIES_GROUPS_MAX,
  SERIES_HOURLY_MS_MAX,
  SERIES_MS_MAX,
  SERIES_ROWS_MAX,
} from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import { keyMonthRow } from '@gateway/metering';
import type { RankedRow, SeriesRow, UsageHoursStore } from './hours-store.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Maximum estimated size of a response in bytes, below the bus limit of 1,000,000. */
const ANSWER_BYTES_MAX = 900_000;
/** Estimated JSON size of a row without its group, with large numbers. */
const ROW_BYTES = 220;

/**
 * Returns the use by an account's settled calls, as rows for a chart, and the number of calls that
 * were not billed.
 */
export async function showUsageSeries(
  store: Pick<UsageHoursStore, 'series' | 'unbilled'>,
  { account, from, to, by, groupBy, key, model, member }: ReceivedOf<typeof billingUsageSeries>,
): Promise<AnswerBodyOf<typeof billingUsageSeries>> {
  const longest = by === 'hour' ? SERIES_HOURLY_MS_MAX : SERIES_MS_MAX;
  if (to <= from) return refuse('invalid_request', 'the end must be after the start', 'to');
  if (to - from > longest)
    return refuse('invalid_request', `a series by ${by} covers at most ${longest / DAY_MS} days`, 'from');
  const query = {
    account,
    from: Math.floor(from / HOUR_MS) * HOUR_MS,
    to: Math.ceil(to / HOUR_MS) * HOUR_MS,
    stepMs: by === 'hour' ? HOUR_MS : DAY_MS,
    groupBy,
    key: key ?? null,
    model: model ?? null,
    member: member ?? null,
    groupsMax: SERIES_GROUPS_MAX,
  } as const;
  const [rows, unbilled] = await Promise.all([store.series(query), store.unbilled(query)]);
  return { rows: groupBy === 'none' ? rows.map(withoutPlace) : fitRows(rows), unbilled };
}

/** Keeps as many of the largest groups as fit into one response, and merges the others. */
export function fitRows(
  rows: readonly RankedRow[],
  { rowsMax = SERIES_ROWS_MAX, bytesMax = ANSWER_BYTES_MAX } = {},
): SeriesRow[] {
  const sizes = estimateSizes(rows);
  let groups = SERIES_GROUPS_MAX;
  for (; groups > 0; groups -= 1) {
    const { rows: joined, bytes } = sizes[groups] ?? NO_ROWS;
    if (joined <= rowsMax && bytes <= bytesMax) break;
  }
  return joinBeyond(rows, groups);
}

const NO_ROWS = { rows: 0, bytes: 0 };

/** Estimates, for each number of named groups, the largest size of the response. */
function estimateSizes(rows: readonly RankedRow[]): { rows: number; bytes: number }[] {
  const named = Array.from({ length: SERIES_GROUPS_MAX + 1 }, () => ({ ...NO_ROWS }));
  /**
   * For each rank, the number of start times whose last group has this rank. If fewer groups are
   * named, these start times have a row for the other groups.
   */
  const reaching = Array.from({ length: SERIES_GROUPS_MAX + 2 }, () => 0);
  const lastOf = new Map<number, number>();
  for (const { place, group, start } of rows) {
    const at = group === OTHER_GROUP ? SERIES_GROUPS_MAX + 1 : place;
    lastOf.set(start, Math.max(lastOf.get(start) ?? 0, at));
    const size = named[at];
    if (size === undefined) continue;
    size.rows += 1;
    size.bytes += ROW_BYTES + (group?.length ?? 0);
  }
  for (const place of lastOf.values()) reaching[place] = (reaching[place] ?? 0) + 1;
  let [sum, rest] = [NO_ROWS, lastOf.size];
  return named.map((size, groups) => {
    sum = { rows: sum.rows + size.rows, bytes: sum.bytes + size.bytes };
    rest -= reaching[groups] ?? 0;
    return { rows: sum.rows + rest, bytes: sum.bytes + rest * (ROW_BYTES + OTHER_GROUP.length) };
  });
}

/**
 * Merges the groups after the first `groups`. A group whose name is the name of the merged group is
 * merged too, so that the rows of one start time always have different groups.
 */
function joinBeyond(rows: readonly RankedRow[], groups: number): SeriesRow[] {
  const joined: SeriesRow[] = [];
  let other: Mutable<SeriesRow> | null = null;
  for (const row of rows) {
    if (row.place <= groups && row.group !== OTHER_GROUP) {
      joined.push(withoutPlace(row));
    } else if (other?.start === row.start) {
      add(other, row);
    } else {
      other = { ...withoutPlace(row), group: OTHER_GROUP };
      joined.push(other);
    }
  }
  return joined.sort((one, next) => one.start - next.start || next.chargedNanoUsd - one.chargedNanoUsd);
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const SUMMED = [
  'calls',
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'outputTokens',
  'chargedNanoUsd',
  'planNanoUsd',
  'walletNanoUsd',
] as const satisfies readonly (keyof SeriesRow)[];

function add(sum: Mutable<SeriesRow>, row: SeriesRow): void {
  for (const name of SUMMED) sum[name] += row[name];
}

function withoutPlace({ place: _place, ...row }: RankedRow): SeriesRow {
  return row;
}

/** Returns the charges of keys in a month: the balances that are compared with their caps. */
export async function showKeyMonths(
  store: Pick<UsageHoursStore, 'balances'>,
  { account, month, keys }: ReceivedOf<typeof billingKeyMonths>,
): Promise<AnswerBodyOf<typeof billingKeyMonths>> {
  const keyOf = new Map(keys.map((key) => [keyMonthRow(key, month), key]));
  const values = await store.balances(account, [...keyOf.keys()]);
  const rows = values.flatMap(({ name, value }) => {
    const key = keyOf.get(name);
    return key === undefined ? [] : [{ key, chargedNanoUsd: Number(value) }];
  });
  return { rows };
}
