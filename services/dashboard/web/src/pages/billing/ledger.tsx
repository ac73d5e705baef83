import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { LedgerTransactionView } from '@gateway/contracts/pages';
import { useLedger } from '../../api/queries.js';
import { nanoToText, parseNano, placesOf } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { ShortId, shortId } from '../../ui/copy.js';
import { Skeleton, Empty } from '../../ui/empty.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { Table, TableFoot } from '../../ui/table.js';
import { Amount, ShortTime } from '../../ui/time.js';

type Shown = 'with' | 'without';

/** All ledger transactions, newest first. */
export function Ledger() {
  const { account } = useCurrent();
  const [shown, setShown] = useState<Shown>('with');
  const ledger = useLedger(account.id, shown);
  const rows = ledger.data?.pages.flatMap(({ data }) => data) ?? [];
  // The same number of places for all rows, so that decimals align.
  const places = placesOf(rows.flatMap(({ entries }) => entries.map(({ amountUsd }) => amountUsd)));
  return (
    <Card
      flush
      title="Ledger"
      about="Entries of the wallet and the plan never change; corrections are new entries"
      actions={
        <SegmentedControl
          aria-label="Which entries"
          size="xs"
          data={[
            { value: 'with', label: 'All' },
            { value: 'without', label: 'Without requests' },
          ]}
          value={shown}
          onChange={(value) => setShown(value as Shown)}
        />
      }
    >
      {ledger.data === undefined ? (
        ledger.isError ? (
          <div className="card-body">
            <ErrorNotice error={ledger.error} retry={() => void ledger.refetch()} />
          </div>
        ) : (
          <Skeleton lines={6} />
        )
      ) : (
        <>
          {rows.length === 0 ? (
            <Empty icon="billing" title={shown === 'with' ? 'No entries yet' : 'No entries without requests'}>
              The first entry appears when funds are added{shown === 'with' && ', or when a plan pays for a request'}.
            </Empty>
          ) : (
            <Table
              label="Ledger"
              columns={[
                { label: 'Time (UTC)' },
                { label: 'Kind' },
                { label: 'Wallet', right: true },
                { label: 'Plan', right: true, wide: true },
                { label: 'Details', wide: true },
              ]}
            >
              {rows.map((transaction) => (
                <TransactionRow key={transaction.id} transaction={transaction} places={places} />
              ))}
            </Table>
          )}
          {rows.length > 0 && (
            <TableFoot
              shown={rows.length}
              noun={rows.length === 1 ? 'entry' : 'entries'}
              hasMore={ledger.hasNextPage}
              isLoading={ledger.isFetchingNextPage}
              more={() => void ledger.fetchNextPage()}
            />
          )}
        </>
      )}
    </Card>
  );
}

function TransactionRow({
  transaction: { id, at, kind, requestId, entries, reason, reference },
  places,
}: {
  readonly transaction: LedgerTransactionView;
  readonly places: number;
}) {
  return (
    <tr>
      <td>
        <ShortTime at={at} />
      </td>
      <th scope="row">
        {kindWords(kind)}
        <div className="cell-sub narrow-only">
          {requestId === null ? (
            <span className="breakable">{reason ?? reference ?? shortId(id)}</span>
          ) : (
            <Link to={`/usage?request=${encodeURIComponent(requestId)}`}>
              <ShortId id={requestId} />
            </Link>
          )}
        </div>
      </th>
      <td className="right">
        <Moved entries={entries} of="wallet" places={places} />
      </td>
      <td className="right">
        <Moved entries={entries} of="plan" places={places} />
      </td>
      <td className="nowrap">
        {requestId === null ? (
          <>
            {reason !== undefined && <div className="breakable">{reason}</div>}
            <span className="code muted" title={id}>
              {reference ?? id}
            </span>
          </>
        ) : (
          <Link className="code" to={`/usage?request=${encodeURIComponent(requestId)}`}>
            {requestId}
          </Link>
        )}
      </td>
    </tr>
  );
}

/** The amount moved in ledger accounts that begin with `wallet:` or `plan:`. */
function Moved({
  entries,
  of,
  places,
}: {
  readonly entries: LedgerTransactionView['entries'];
  readonly places: number;
  readonly of: 'wallet' | 'plan';
}) {
  const moved = entries
    .filter(({ ledgerAccount }) => ledgerAccount.startsWith(`${of}:`))
    .reduce((sum, { amountUsd }) => sum + parseNano(amountUsd), 0n);
  if (moved === 0n) return <span className="muted">—</span>;
  return <Amount usd={nanoToText(moved)} exact={places} />;
}

const KINDS: Readonly<Record<string, string>> = { usage: 'Request', credit: 'Funds added' };

/** Formats a kind of ledger transaction. */
export function kindWords(kind: string): string {
  const known = KINDS[kind] ?? kind.replaceAll('_', ' ');
  return known.charAt(0).toUpperCase() + known.slice(1);
}
