import type { UsageSeries, UsageSeriesPoint } from '@gateway/contracts/pages';
import { listStarts } from '../../format/range.js';
import type { Span } from '../../format/range.js';
import { parseNano } from '../../format/usd.js';

export type Measure = 'spend' | 'requests' | 'tokens';

/** Sums over all points, or over one group. */
export interface Sums {
  calls: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  chargedNano: bigint;
  planNano: bigint;
  walletNano: bigint;
}

export interface Group {
  readonly id: string;
  readonly label: string;
  /** A variable of `tokens.css`. */
  readonly color: string;
  readonly sums: Sums;
}

/** Points arranged for the chart: one row per step, one column per shown group. */
export interface ChartData {
  readonly rows: readonly { readonly start: string; readonly values: Readonly<Record<string, number>> }[];
  /** The groups with a separate colour, largest first; the others are combined in `rest`. */
  readonly drawn: readonly Group[];
  /** All groups, largest first. */
  readonly groups: readonly Group[];
  readonly totals: Sums;
  /** Requests that were not billed and are in none of the sums; null: unknown. */
  readonly unbilled: UsageSeries['unbilled'];
}

/** Most groups with a separate colour. */
const DRAWN_MAX = 7;
const REST_COLOR = 'var(--chart-8)';
export const REST_ID = 'rest';

/** Arranges points of the API in rows and groups. */
export function arrange({ data: points, unbilled }: UsageSeries, span: Span, measure: Measure): ChartData {
  const totals = noSums();
  const byGroup = new Map<string, { label: string; sums: Sums }>();
  for (const point of points) {
    add(totals, point);
    const id = point.group?.id ?? 'all';
    const group = byGroup.get(id) ?? { label: point.group?.label ?? 'All requests', sums: noSums() };
    add(group.sums, point);
    byGroup.set(id, group);
  }
  const sorted = [...byGroup].sort(
    ([, a], [, b]) => Number(b.sums.chargedNano - a.sums.chargedNano) || b.sums.calls - a.sums.calls,
  );
  const groups = sorted.map(([id, { label, sums }], index) => ({
    id,
    label,
    sums,
    color: index < DRAWN_MAX ? `var(--chart-${index + 1})` : REST_COLOR,
  }));
  const drawnIds = new Set(groups.slice(0, DRAWN_MAX).map(({ id }) => id));
  const drawn = groups.slice(0, DRAWN_MAX);
  if (groups.length > DRAWN_MAX) drawn.push({ id: REST_ID, label: 'All others', color: REST_COLOR, sums: noSums() });
  return { rows: rowsOf(points, span, measure, drawnIds), drawn, groups, totals, unbilled };
}

export function readMeasure(sums: Sums, measure: Measure): number {
  if (measure === 'spend') return Number(sums.chargedNano) / 1e9;
  return measure === 'requests' ? sums.calls : sums.inputTokens + sums.outputTokens;
}

function rowsOf(
  points: readonly UsageSeriesPoint[],
  span: Span,
  measure: Measure,
  drawnIds: ReadonlySet<string>,
): ChartData['rows'] {
  const rows = new Map(
    listStarts(span).map((start) => [Date.parse(start), { start, values: {} as Record<string, number> }]),
  );
  for (const point of points) {
    const row = rows.get(Date.parse(point.start));
    if (row === undefined) continue;
    const id = point.group?.id ?? 'all';
    const column = drawnIds.has(id) ? id : REST_ID;
    const sums = noSums();
    add(sums, point);
    row.values[column] = (row.values[column] ?? 0) + readMeasure(sums, measure);
  }
  return [...rows.values()];
}

function noSums(): Sums {
  return {
    calls: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
    chargedNano: 0n,
    planNano: 0n,
    walletNano: 0n,
  };
}

function add(sums: Sums, point: UsageSeriesPoint): void {
  sums.calls += point.calls;
  sums.inputTokens += point.inputTokens;
  sums.cachedInputTokens += point.cachedInputTokens;
  sums.outputTokens += point.outputTokens;
  sums.chargedNano += parseNano(point.chargedUsd);
  sums.planNano += parseNano(point.planUsd);
  sums.walletNano += parseNano(point.walletUsd);
}
