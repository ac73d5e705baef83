import type { PageUsageRecord } from '@gateway/contracts/pages';
import { formatCount, formatServed } from '../../format/number.js';
import { formatDuration } from '../../format/time.js';
import { placesOf } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Table } from '../../ui/table.js';
import { Amount, ShortTime } from '../../ui/time.js';
import { Outcome } from './outcome.js';

interface UsageTableProps {
  readonly records: readonly PageUsageRecord[];
  readonly onChoose: (requestId: string) => void;
}

/** One row per request. Choosing a row shows all details. */
export function UsageTable({ records, onChoose }: UsageTableProps) {
  const { account, isManager } = useCurrent();
  // The same number of places for all rows, so that decimals align.
  const places = placesOf(records.map(({ chargedUsd }) => chargedUsd));
  const showsMember = account.type === 'team' && isManager;
  return (
    <Table
      label="Requests"
      columns={[
        { label: 'Time (UTC)' },
        { label: 'Model' },
        { label: showsMember ? 'Key and member' : 'Key', wide: true },
        { label: 'Input', right: true, wide: true },
        { label: 'Output', right: true, wide: true },
        { label: 'Duration', right: true, wide: true },
        { label: 'Outcome', wide: true },
        { label: 'Cost', right: true },
      ]}
    >
      {records.map((record) => (
        <tr key={record.requestId} className="selectable" onClick={() => onChoose(record.requestId)}>
          <td>
            <button
              type="button"
              className="row-button"
              onClick={(event) => {
                event.stopPropagation();
                onChoose(record.requestId);
              }}
            >
              <ShortTime at={record.startedAt} />
              <span className="hidden-text">, show request {record.requestId}</span>
            </button>
          </td>
          <td className="code breakable">
            {record.modelId}
            {formatServed(record) !== '' && <div className="cell-sub">{formatServed(record)}</div>}
          </td>
          <td>
            <div className="clip" style={{ maxWidth: 160 }}>
              {record.keyName}
            </div>
            {showsMember && <div className="cell-sub clip">{record.memberEmail ?? 'a former member'}</div>}
          </td>
          <td className="right">
            {record.tokens === null ? '—' : formatCount(record.tokens.input)}
            {record.tokens !== null && record.tokens.cachedInput > 0 && (
              <div className="cell-sub">{formatCount(record.tokens.cachedInput)} cached</div>
            )}
          </td>
          <td className="right">{record.tokens === null ? '—' : formatCount(record.tokens.output)}</td>
          <td className="right">{formatDuration(Date.parse(record.endedAt) - Date.parse(record.startedAt))}</td>
          <td>
            <Outcome outcome={record.outcome} />
          </td>
          <td className="right">
            <Amount usd={record.chargedUsd} exact={places} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
