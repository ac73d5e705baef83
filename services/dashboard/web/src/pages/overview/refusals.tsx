import type { Refusals as RefusalsView } from '@gateway/contracts/pages';
import { Fragment, useMemo } from 'react';
import { Link } from 'react-router';
import { useRefusals } from '../../api/queries.js';
import { callAdvice } from '../../format/advice.js';
import { formatCount } from '../../format/number.js';
import { spanOf } from '../../format/range.js';
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
  /** The minute of the newest one; null: further back than the hours that are listed. */
  readonly last: string | null;
  readonly ids: readonly string[];
}

/** Calls that were not let through, by their codes, with what to do. */
export function Refusals({ range }: { readonly range: RangeName }) {
  const { account } = useCurrent();
  const now = useNow(SPAN_MS);
  const span = useMemo(() => spanOf(range, now), [range, now]);
  const refusals = useRefusals(account.id, span);
  return (
    <Card title="Refused calls" about="Calls that the gateway did not let through; they cost nothing" flush>
      <Loaded query={refusals}>
        {(answer) =>
          answer.totals.length === 0 ? (
            <Empty icon="check" title="Nothing was refused in this time">
              When a limit or a mistake stops a call, its code stands here with what to do about it.
            </Empty>
          ) : (
            <Table
              label="Refused calls"
              columns={[
                { label: 'Code' },
                { label: 'Calls', right: true },
                { label: 'What to do' },
                { label: 'Last seen' },
                { label: 'Newest request ids' },
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
  const advice = callAdvice(code);
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
    // Hours and the ids of each come newest first.
    const ids = hours.flatMap(({ lastRequestIds }) => lastRequestIds);
    return { code, count, last: hours[0]?.lastAt ?? null, ids };
  });
}
