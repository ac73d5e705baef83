import { type AnswerOf, OTHER_GROUP, billingRefusedCalls, billingUsageSeries } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import {
  HOURLY_DAYS_MAX,
  type Refusals,
  type RefusalsPoint,
  SERIES_DAYS_MAX,
  type UsageSeries,
  refusalsQuery,
  usageSeriesQuery,
} from '@gateway/contracts/pages';
import { formatUsd } from '@gateway/metering';
import type { Refusal } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import { type AccountNames, readNames } from '../account/names.js';
import { type AccountRequest, defineRoute, refusePage } from '../route.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Most request IDs shown per hour and code. */
const IDS_SHOWN_MAX = 5;

type SeriesRow = Extract<AnswerOf<typeof billingUsageSeries>, { rows: unknown }>['rows'][number];
type RefusedRow = Extract<AnswerOf<typeof billingRefusedCalls>, { rows: unknown }>['rows'][number];
type GroupBy = 'none' | 'model' | 'key' | 'member';

export const SERIES_ROUTES = [
  defineRoute({
    id: 'getUsageSeries',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/usage-series',
    query: usageSeriesQuery,
    async handle({ services, account, query }): Promise<RouteResult> {
      const { by, groupBy } = query;
      const span = spanOf(query, by === 'day' ? SERIES_DAYS_MAX : HOURLY_DAYS_MAX);
      if ('refused' in span) return span;
      const own = account.role === 'member' ? { member: account.memberId } : {};
      const question = { account: account.id, ...span, by, groupBy, ...own };
      const answer = await services.request(billingUsageSeries, question);
      if (isRefusal(answer)) return answer;
      const groups = answer.rows.flatMap(({ group }) => (group === null || group === OTHER_GROUP ? [] : [group]));
      const ids = { keys: groupBy === 'key' ? groups : [], members: groupBy === 'member' ? groups : [] };
      const names = await readNames(services, account.id, ids);
      const data = answer.rows.map((row) => pointOf(row, groupBy, names));
      const body: UsageSeries = { data, unbilled: answer.unbilled };
      return { status: 200, body };
    },
  }),
  defineRoute({
    id: 'listRefusals',
    access: 'member',
    method: 'GET',
    path: '/accounts/{account}/refusals',
    query: refusalsQuery,
    async handle(request): Promise<RouteResult> {
      const { services, account, query } = request;
      const span = spanOf(query, HOURLY_DAYS_MAX);
      if ('refused' in span) return span;
      const answer = await services.request(billingRefusedCalls, { account: account.id, ...span });
      if (isRefusal(answer)) return answer;
      if (account.role !== 'member') {
        const { rows, totals, more } = answer;
        return { status: 200, body: { data: pointsOf(rows), totals, more } satisfies Refusals };
      }
      const own = await findOwnKeys(
        request,
        answer.rows.flatMap(({ key }) => key ?? []),
      );
      const data = pointsOf(answer.rows.filter(({ key }) => key !== null && own.has(key)));
      return { status: 200, body: { data, totals: totalsOf(data), more: answer.more } satisfies Refusals };
    },
  }),
];

/** Parses [from, to) into epoch milliseconds. Refuses a reversed or too long span. */
function spanOf(
  { from, to }: { readonly from: string; readonly to: string },
  daysMax: number,
): { readonly from: number; readonly to: number } | Refusal {
  const span = { from: Date.parse(from), to: Date.parse(to) };
  if (span.to <= span.from) return refusePage('invalid_request', 'to: must be after from', 'to');
  if (span.to - span.from <= daysMax * DAY_MS) return span;
  return refusePage('invalid_request', `from: at most ${daysMax} days before to`, 'from');
}

function pointOf(row: SeriesRow, groupBy: GroupBy, names: AccountNames): UsageSeries['data'][number] {
  const { start, group, chargedNanoUsd, planNanoUsd, walletNanoUsd, ...counts } = row;
  return {
    start: new Date(start).toISOString(),
    group: group === null ? null : { id: group, label: labelOf(group, groupBy, names) },
    ...counts,
    chargedUsd: formatUsd(BigInt(chargedNanoUsd)),
    planUsd: formatUsd(BigInt(planNanoUsd)),
    walletUsd: formatUsd(BigInt(walletNanoUsd)),
  };
}

function labelOf(group: string, groupBy: GroupBy, names: AccountNames): string {
  if (group === OTHER_GROUP) return 'Other';
  switch (groupBy) {
    case 'key':
      return names.keyLabel(group);
    case 'member':
      return names.memberEmail(group) ?? group;
    case 'model':
    case 'none':
      return group;
  }
}

/** Groups counts per minute and key by hour and code, newest first. */
function pointsOf(rows: readonly RefusedRow[]): RefusalsPoint[] {
  const points = new Map<string, RefusalsPoint>();
  for (const { minute, code, count, lastIds } of rows) {
    const start = new Date(minute - (minute % HOUR_MS)).toISOString();
    const name = `${start} ${code}`;
    const known = points.get(name);
    // Rows are newest first; within a row the newest ID is last.
    const ids = [...(known?.lastRequestIds ?? []), ...[...lastIds].reverse()].slice(0, IDS_SHOWN_MAX);
    const lastAt = known?.lastAt ?? new Date(minute).toISOString();
    points.set(name, { start, code, count: (known?.count ?? 0) + count, lastAt, lastRequestIds: ids });
  }
  return [...points.values()];
}

function totalsOf(points: readonly RefusalsPoint[]): Refusals['totals'] {
  const totals = new Map<string, number>();
  for (const { code, count } of points) totals.set(code, (totals.get(code) ?? 0) + count);
  return [...totals].map(([code, count]) => ({ code, count })).sort((one, other) => other.count - one.count);
}

/** Returns those keys that belong to the member, including the playground key. */
export async function findOwnKeys(
  { services, account }: AccountRequest,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const names = await readNames(services, account.id, { keys, members: [] });
  return new Set(keys.filter((key) => names.keyMember(key) === account.memberId));
}
