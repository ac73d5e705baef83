import { Select } from '@mantine/core';
import type { PageStatement } from '@gateway/contracts/pages';
import { useState } from 'react';
import { useStatement } from '../../api/queries.js';
import { countOf, formatCount } from '../../format/number.js';
import { parseNano, placesOf } from '../../format/usd.js';
import { formatMonth, monthOf, recentMonths } from '../../format/time.js';
import { useCurrent } from '../../layout/current-account.js';
import { Amount } from '../../ui/time.js';
import { Empty } from '../../ui/empty.js';
import { Loaded } from '../../ui/loaded.js';
import { Card } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { kindWords } from './ledger.js';

const MONTHS_SHOWN = 24;

/** The statement of one calendar month, which matches the ledger. */
export function Statement() {
  const { account } = useCurrent();
  const [month, setMonth] = useState(() => monthOf(Date.now()));
  const statement = useStatement(account.id, month);
  return (
    <div className="stack loose">
      <Card
        flush
        title={`Statement of ${formatMonth(month)}`}
        about="UTC calendar month"
        actions={
          <Select
            aria-label="Month"
            size="xs"
            w={170}
            data={recentMonths(Date.now(), MONTHS_SHOWN).map((value) => ({ value, label: formatMonth(value) }))}
            value={month}
            allowDeselect={false}
            onChange={(value) => setMonth(value ?? month)}
          />
        }
      >
        <Loaded query={statement}>{(data) => <Movements statement={data} />}</Loaded>
      </Card>
      {statement.data !== undefined && statement.data.usage.calls > 0 && (
        <>
          <Lines
            title="By model"
            entries={statement.data.byModel.map((line) => ({ ...line, label: line.modelId }))}
            omitted={statement.data.omitted.models}
          />
          <Lines title="By key" entries={statement.data.byKey} omitted={statement.data.omitted.keys} />
          {account.type === 'team' && (
            <Lines title="By member" entries={statement.data.byMember} omitted={statement.data.omitted.members} />
          )}
        </>
      )}
    </div>
  );
}

function Movements({ statement }: { readonly statement: PageStatement }) {
  const { openingBalanceUsd, closingBalanceUsd, movements, usage } = statement;
  if (usage.calls === 0 && movements.length === 0 && !/[1-9]/.test(openingBalanceUsd + closingBalanceUsd)) {
    return (
      <Empty icon="billing" title="No entries in this month">
        Choose another month, or send requests first.
      </Empty>
    );
  }
  const places = placesOf([
    openingBalanceUsd,
    closingBalanceUsd,
    ...movements.map(({ amountUsd }) => amountUsd),
    usage.chargedUsd,
    usage.planUsd,
    usage.walletUsd,
  ]);
  return (
    <>
      <Table
        label="Movements"
        columns={[{ label: 'Kind' }, { label: 'Entries', right: true }, { label: 'Amount', right: true }]}
      >
        <tr>
          <th scope="row">Opening balance</th>
          <td />
          <td className="right">
            <Amount usd={openingBalanceUsd} exact={places} />
          </td>
        </tr>
        {movements.map(({ kind, amountUsd, transactions }) => (
          <tr key={kind}>
            <td>{kindWords(kind)}</td>
            <td className="right">{formatCount(transactions)}</td>
            <td className="right">
              <Amount usd={amountUsd} exact={places} />
            </td>
          </tr>
        ))}
        <tr>
          <th scope="row">Closing balance</th>
          <td />
          <td className="right strong">
            <Amount usd={closingBalanceUsd} exact={places} />
          </td>
        </tr>
      </Table>
      <div className="card-foot muted small">
        {countOf(usage.calls, 'request')} cost <Amount usd={usage.chargedUsd} exact={places} />:{' '}
        <Amount usd={usage.planUsd} exact={places} /> paid by the plan, <Amount usd={usage.walletUsd} exact={places} />{' '}
        by the wallet.
      </div>
    </>
  );
}

interface Line {
  readonly label: string;
  readonly calls: number;
  readonly chargedUsd: string;
  readonly planUsd: string;
  readonly walletUsd: string;
}

function Lines({
  title,
  entries,
  omitted,
}: {
  title: string;
  entries: readonly Line[];
  omitted: { entries: number; chargedUsd: string; calls: number };
}) {
  const places = placesOf(
    [...entries, omitted].flatMap(({ chargedUsd, ...paid }) => [
      chargedUsd,
      ...('planUsd' in paid ? [paid.planUsd, paid.walletUsd] : []),
    ]),
  );
  return (
    <Card flush title={title}>
      <Table
        label={title}
        columns={[
          { label: title.replace('By ', '').replace(/^./, (letter) => letter.toUpperCase()) },
          { label: 'Requests', right: true },
          { label: 'Plan', right: true, wide: true },
          { label: 'Wallet', right: true, wide: true },
          { label: 'Total', right: true },
        ]}
      >
        {dearestFirst(entries).map(({ label, calls, planUsd, walletUsd, chargedUsd }, index) => (
          <tr key={index}>
            <th scope="row" className="breakable">
              {label}
            </th>
            <td className="right">{formatCount(calls)}</td>
            <td className="right">
              <Amount usd={planUsd} exact={places} />
            </td>
            <td className="right">
              <Amount usd={walletUsd} exact={places} />
            </td>
            <td className="right">
              <Amount usd={chargedUsd} exact={places} />
            </td>
          </tr>
        ))}
        {omitted.entries > 0 && (
          <tr className="quiet">
            <th scope="row">and {omitted.entries} more</th>
            <td className="right">{formatCount(omitted.calls)}</td>
            <td />
            <td />
            <td className="right">
              <Amount usd={omitted.chargedUsd} exact={places} />
            </td>
          </tr>
        )}
      </Table>
    </Card>
  );
}

function dearestFirst(entries: readonly Line[]): Line[] {
  const nanoOf = ({ chargedUsd }: Line) => parseNano(chargedUsd);
  return [...entries].sort((one, other) => (nanoOf(one) < nanoOf(other) ? 1 : -1));
}
