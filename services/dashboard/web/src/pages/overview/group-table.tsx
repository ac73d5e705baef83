import { Button } from '@mantine/core';
import { useState } from 'react';
import { formatCount, formatShort } from '../../format/number.js';
import { formatNano } from '../../format/usd.js';
import type { SeriesGroup } from '../../api/queries.js';
import { Table } from '../../ui/table.js';
import { readMeasure } from './series.js';
import type { ChartData, Measure } from './series.js';

const SHOWN_FIRST = 8;
const NAMES = { none: 'All', model: 'Model', key: 'Key', member: 'Member' } as const;

interface GroupTableProps {
  readonly arranged: ChartData;
  readonly groupBy: SeriesGroup;
  /** The measure of the chart, by which shares are computed. */
  readonly measure: Measure;
}

/** The groups of the chart as rows, highest first. */
export function GroupTable({ arranged, groupBy, measure }: GroupTableProps) {
  const [all, setAll] = useState(false);
  const shown = all ? arranged.groups : arranged.groups.slice(0, SHOWN_FIRST);
  const total = readMeasure(arranged.totals, measure);
  return (
    <div style={{ margin: '16px -18px -18px', borderTop: '1px solid var(--line)' }}>
      <Table
        label={`Usage by ${NAMES[groupBy].toLowerCase()}`}
        columns={[
          { label: NAMES[groupBy] },
          { label: `Share of ${measure}`, wide: true },
          { label: 'Requests', right: true },
          { label: 'Input', right: true, wide: true },
          { label: 'Output', right: true, wide: true },
          { label: 'Spend', right: true },
        ]}
      >
        {shown.map(({ id, label, color, sums }) => {
          const share = total === 0 ? 0 : (readMeasure(sums, measure) / total) * 100;
          return (
            <tr key={id}>
              <th scope="row">
                <span className="row fixed">
                  <span className="swatch" style={{ background: color }} />
                  <span className={groupBy === 'model' && id !== 'other' ? 'code' : undefined}>
                    {id === 'other' ? 'All others' : label}
                  </span>
                </span>
              </th>
              <td style={{ width: '22%', minWidth: 110 }}>
                <span className="bar-cell" title={`${share.toFixed(1)} %`}>
                  <span style={{ width: `${share}%`, background: color }} />
                </span>
              </td>
              <td className="right">{formatCount(sums.calls)}</td>
              <td className="right">{formatShort(sums.inputTokens)}</td>
              <td className="right">{formatShort(sums.outputTokens)}</td>
              <td className="right">{formatNano(sums.chargedNano)}</td>
            </tr>
          );
        })}
      </Table>
      {arranged.groups.length > SHOWN_FIRST && (
        <div className="card-foot">
          <Button variant="default" size="xs" onClick={() => setAll(!all)}>
            {all ? 'Show fewer' : `Show all ${arranged.groups.length}`}
          </Button>
        </div>
      )}
    </div>
  );
}
