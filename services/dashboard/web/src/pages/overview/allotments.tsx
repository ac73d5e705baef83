import type { OverviewView } from '@gateway/contracts/pages';
import { Meter } from '../../ui/meter.js';
import { Card } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { inUnit } from './balance-cards.js';

/** The plan's limits for single models in a period. */
export function Allotments({ allotments }: { readonly allotments: OverviewView['allotments'] }) {
  if (allotments.length === 0) return null;
  return (
    <Card title="Allotments" about="The plan's limits for single models in this period" flush>
      <Table
        label="Allotments"
        columns={[
          { label: 'Model' },
          { label: 'Used', right: true },
          { label: 'Limit', right: true },
          { label: 'Share', wide: true },
        ]}
      >
        {allotments.map(({ modelId, unit, used, limit }) => {
          const percent = Math.min(100, Math.floor((Number(used) / Number(limit)) * 100));
          return (
            <tr key={modelId}>
              <th scope="row" className="code">
                {modelId}
              </th>
              <td className="right">{inUnit(used, unit)}</td>
              <td className="right">{inUnit(limit, unit)}</td>
              <td style={{ minWidth: 120 }}>
                <Meter label={`${modelId}, used`} percent={percent} />
              </td>
            </tr>
          );
        })}
      </Table>
    </Card>
  );
}
