import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { formatCount, formatShort } from '../../format/number.js';
import { formatDay, formatTick, formatUtc } from '../../format/time.js';
import type { ChartData, Measure } from './series.js';

interface BarsProps {
  readonly arranged: ChartData;
  readonly by: 'day' | 'hour';
  readonly measure: Measure;
}

/** Stacked bars, one per step. The table below has the same figures. */
export function Bars({ arranged, by, measure }: BarsProps) {
  const rows = arranged.rows.map(({ start, values }) => ({ start, ...values }));
  return (
    <div className="chart-box" role="img" aria-label={`${measure} by ${by}; the table has the figures`}>
      <ResponsiveContainer width="100%" height="100%">
        <BarChart
          data={rows}
          margin={{ top: 8, right: 4, bottom: 0, left: 0 }}
          barCategoryGap="22%"
          accessibilityLayer={false}
        >
          <CartesianGrid vertical={false} stroke="var(--chart-grid)" />
          <XAxis
            dataKey="start"
            tickFormatter={(start: string) => formatTick(start, by)}
            tickLine={false}
            axisLine={{ stroke: 'var(--line-strong)' }}
            minTickGap={28}
            tickMargin={8}
          />
          <YAxis
            width={58}
            tickLine={false}
            axisLine={false}
            tickFormatter={(value: number) => axisText(value, measure)}
            allowDecimals={measure === 'spend'}
          />
          <Tooltip
            cursor={{ fill: 'var(--surface-sunk)' }}
            isAnimationActive={false}
            content={({ active, label }) =>
              active === true ? <Tip arranged={arranged} start={String(label)} by={by} measure={measure} /> : null
            }
          />
          {arranged.drawn.map(({ id, label, color }) => (
            <Bar
              key={id}
              dataKey={id}
              name={label}
              stackId="all"
              fill={color}
              maxBarSize={44}
              isAnimationActive={false}
            />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}

interface TipProps extends BarsProps {
  readonly start: string;
}

function Tip({ arranged, start, by, measure }: TipProps) {
  const row = arranged.rows.find((entry) => entry.start === start);
  const lines = arranged.drawn
    .map((group) => ({ group, value: row?.values[group.id] ?? 0 }))
    .filter(({ value }) => value > 0);
  const total = lines.reduce((sum, { value }) => sum + value, 0);
  return (
    <div className="chart-tip">
      <strong>{by === 'day' ? formatDay(start) : formatUtc(start)}</strong>
      {lines.map(({ group, value }) => (
        <div className="line" key={group.id}>
          <span className="swatch" style={{ background: group.color }} />
          <span className="clip" style={{ maxWidth: 180 }}>
            {group.label}
          </span>
          <span className="num">{valueText(value, measure)}</span>
        </div>
      ))}
      {lines.length !== 1 && (
        <div className="line strong">
          <span>Total</span>
          <span className="num">{valueText(total, measure)}</span>
        </div>
      )}
    </div>
  );
}

function axisText(value: number, measure: Measure): string {
  if (measure !== 'spend') return formatShort(value);
  if (value === 0) return '$0';
  return value >= 1 ? `$${formatShort(value)}` : `$${Number(value.toPrecision(2))}`;
}

function valueText(value: number, measure: Measure): string {
  if (measure !== 'spend') return formatCount(Math.round(value));
  const places = value === 0 || value >= 0.01 ? 2 : 6;
  return `$${value.toLocaleString('en-US', { minimumFractionDigits: places, maximumFractionDigits: places })}`;
}
