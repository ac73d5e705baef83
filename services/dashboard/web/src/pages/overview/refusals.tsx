import type { Refusals as RefusalsView } from '@gateway/contracts/pages';
import { Fragment, useMemo } from 'react';
import { Link } from 'react-router';
import { useRefusals } from '../../api/queries.js';
import { findCallAdvice } from '../../format/advice.js';
import { formatCount } from '../../format/number.js';
import { computeSpan } from '../../format/range.js';
import type { RangeName } from '../../format/range.js';
import { useCurrent } from '../../layout/current-account.js';
import { Empty } from '../../ui/empty.js';
import { Loaded } from '../../ui/loaded.js';
import { Card } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { Ago, useNow } from '../../ui/time.js';

const SPAN_MS = 60_000;
const IDS_SHOWN = 3;

interface Refused {
  readonly code: string;
  readonly count: number;
  /** The minute of the newest one; null: older than the listed hours. */
  readonly last: string | null;
  readonly ids: readonly string[];
}

/** Refused requests by code, with the next step. */
export function Refusals({ range }: { readonly range: RangeName }) {
  const { account } = useCurrent();
  const now = useNow(SPAN_MS);
  const span = useMemo(() => computeSpan(range, now), [range, now]);
  const refusals = useRefusals(account.id, span);
  return (
    <Card title="Refused requests" about="Requests that the gateway did not accept; they cost nothing" flush>
      <Loaded query={refusals}>
        {(answer) =>
          answer.totals.length === 0 ? (
            <Empty icon="check" title="No refused requests in this time">
              If a limit or an error stops a request, its code appears here with the next step.
            </Empty>
          ) : (
            <Table
              label="Refused requests"
              columns={[
                { label: 'Code' },
                { label: 'Requests', right: true },
                { label: 'What to do' },
                { label: 'Last seen' },
                { label: 'Newest request IDs' },
              ]}
            >
              {byCode(answer).map((entry) => (
                <RefusedRow key={entry.code} refused={entry} />
              ))}
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}

function RefusedRow({ refused: { code, count, last, ids } }: { readonly refused: Refused }) {
  const advice = findCallAdvice(code);
  return (
    <tr>
      <th scope="row">
        <div className="code nowrap">{code}</div>
        <div className="cell-sub" style={{ fontWeight: 400 }}>
          {advice.title}
        </div>
      </th>
      <td className="right">{formatCount(count)}</td>
      <td style={{ minWidth: 240 }}>
        {advice.next}{' '}
        {advice.link !== undefined && (
          <Link className="in-text" to={advice.link.to}>
            {advice.link.label}
          </Link>
        )}
      </td>
      <td>{last === null ? '—' : <Ago at={last} />}</td>
      <td>
        {ids.slice(0, IDS_SHOWN).map((id) => (
          <Fragment key={id}>
            <Link className="code nowrap" to={`/usage?request=${encodeURIComponent(id)}`}>
              {id}
            </Link>
            <br />
          </Fragment>
        ))}
      </td>
    </tr>
  );
}

function byCode({ data, totals }: RefusalsView): Refused[] {
  return totals.map(({ code, count }) => {
    const hours = data.filter((point) => point.code === code);
    // Hours, and the IDs within each, are newest first.
    const ids = hours.flatMap(({ lastRequestIds }) => lastRequestIds);
    return { code, count, last: hours[0]?.lastAt ?? null, ids };
  });
}
