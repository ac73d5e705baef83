import { SegmentedControl, Select } from '@mantine/core';
import { Suspense, lazy, useMemo, useState } from 'react';
import { Link } from 'react-router';
import { useSeries } from '../../api/queries.js';
import type { SeriesGroup } from '../../api/queries.js';
import { formatCount, formatShort } from '../../format/number.js';
import { computeSpan } from '../../format/range.js';
import type { RangeName } from '../../format/range.js';
import { formatNano } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Skeleton, Empty } from '../../ui/empty.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { useNow } from '../../ui/time.js';
import { GroupTable } from './group-table.js';
import { arrange } from './series.js';
import type { ChartData, Measure } from './series.js';

const Bars = lazy(async () => ({ default: (await import('./bars.js')).Bars }));

const MEASURES: { value: Measure; label: string }[] = [
  { value: 'spend', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
];
/** Interval at which the span moves on. */
const SPAN_MS = 60_000;

/** Spend, requests and tokens over time, by model, key or member; chart and table. */
export function UsageChart({ range }: { readonly range: RangeName }) {
  const { account, isManager } = useCurrent();
  const [measure, setMeasure] = useState<Measure>('spend');
  const [groupBy, setGroupBy] = useState<SeriesGroup>('model');
  const now = useNow(SPAN_MS);
  const span = useMemo(() => computeSpan(range, now), [range, now]);
  const series = useSeries(account.id, span, groupBy);
  const arranged = useMemo(
    () => (series.data === undefined ? null : arrange(series.data, span, measure)),
    [series.data, span, measure],
  );
  const groups = [
    { value: 'none', label: 'All requests' },
    { value: 'model', label: 'By model' },
    { value: 'key', label: 'By key' },
    ...(isManager && account.type === 'team' ? [{ value: 'member', label: 'By member' }] : []),
  ];
  return (
    <Card
      title="Usage"
      about={`By UTC ${span.by}; a request appears within seconds after it ends`}
      actions={
        <div className="chart-controls">
          <SegmentedControl
            aria-label="Measure"
            size="xs"
            data={MEASURES}
            value={measure}
            onChange={(value) => setMeasure(value as Measure)}
          />
          <Select
            aria-label="Group by"
            size="xs"
            w={120}
            data={groups}
            value={groupBy}
            allowDeselect={false}
            onChange={(value) => setGroupBy((value ?? 'none') as SeriesGroup)}
          />
        </div>
      }
    >
      {arranged === null ? (
        series.isError ? (
          <ErrorNotice error={series.error} retry={() => void series.refetch()} />
        ) : (
          <Skeleton lines={6} />
        )
      ) : arranged.totals.calls + arranged.unbilled.voided + arranged.unbilled.expired === 0 ? (
        <Empty icon="usage" title="No requests in this time">
          Requests appear within seconds after they end. <Link to="/quick-start">Send one</Link> with a snippet of the
          quick start, or choose a longer time.
        </Empty>
      ) : (
        <>
          <Totals arranged={arranged} />
          <Suspense fallback={<div className="chart-box" />}>
            <Bars arranged={arranged} by={span.by} measure={measure} />
          </Suspense>
          {groupBy !== 'none' && arranged.groups.length > 0 && (
            <GroupTable arranged={arranged} groupBy={groupBy} measure={measure} />
          )}
        </>
      )}
    </Card>
  );
}

function Totals({ arranged: { totals, unbilled } }: { readonly arranged: ChartData }) {
  const cached = totals.inputTokens === 0 ? 0 : Math.floor((totals.cachedInputTokens / totals.inputTokens) * 100);
  return (
    <dl className="totals">
      <div>
        <dt>Spend</dt>
        <dd>{formatNano(totals.chargedNano)}</dd>
      </div>
      <div>
        <dt>Paid by plan</dt>
        <dd>{formatNano(totals.planNano)}</dd>
      </div>
      <div>
        <dt>Paid by wallet</dt>
        <dd>{formatNano(totals.walletNano)}</dd>
      </div>
      <div>
        <dt>Billed requests</dt>
        <dd>{formatCount(totals.calls)}</dd>
      </div>
      <div>
        <dt>Failed requests</dt>
        <dd>{unbilled.voided === 0 ? '0' : <Link to="/usage?outcome=voided">{formatCount(unbilled.voided)}</Link>}</dd>
      </div>
      {unbilled.expired > 0 && (
        <div>
          <dt>Lost requests</dt>
          <dd>
            <Link to="/usage?outcome=expired">{formatCount(unbilled.expired)}</Link>
          </dd>
        </div>
      )}
      <div>
        <dt>Input tokens</dt>
        <dd title={formatCount(totals.inputTokens)}>{formatShort(totals.inputTokens)}</dd>
      </div>
      <div>
        <dt>Read from cache</dt>
        <dd>{cached} %</dd>
      </div>
      <div>
        <dt>Output tokens</dt>
        <dd title={formatCount(totals.outputTokens)}>{formatShort(totals.outputTokens)}</dd>
      </div>
    </dl>
  );
}
