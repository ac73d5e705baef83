import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useUsageRecords } from '../../api/queries.js';
import { computeSpan } from '../../format/range.js';
import type { RangeName } from '../../format/range.js';
import { useCurrent } from '../../layout/current-account.js';
import { Skeleton, Empty } from '../../ui/empty.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card, Page } from '../../ui/page.js';
import { TableFoot } from '../../ui/table.js';
import { ExportMenu } from './export-menu.js';
import { Lookup } from './lookup.js';
import { RequestDrawer } from './call-drawer.js';
import { FILTERS, UsageFilters, type FilterName } from './usage-filters.js';
import { UsageTable } from './usage-table.js';

/** All requests with their cost, filters, look-up by ID, and export. */
export function Component() {
  const { account, isManager } = useCurrent();
  const [query, setQuery] = useSearchParams();
  const set = (name: FilterName | 'request', value: string | null) =>
    setQuery(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === null || value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  const range = (query.get('range') ?? '') as RangeName | '';
  const span = useMemo(() => (range === '' ? null : computeSpan(range, Date.now())), [range]);
  const records = useUsageRecords(account.id, {
    ...(span === null ? {} : { from: span.from, to: span.to }),
    keyId: query.get('key') ?? undefined,
    memberId: query.get('member') ?? undefined,
    modelId: query.get('model') ?? undefined,
    outcome: query.get('outcome') ?? undefined,
  });
  const rows = records.data?.pages.flatMap(({ data }) => data) ?? [];
  const isFiltered = FILTERS.some((name) => query.has(name));
  return (
    <Page
      title="Usage"
      about="All requests that reached a provider, newest first, with cost and payment."
      actions={isManager && <ExportMenu range={range} />}
    >
      <Lookup onFound={(id) => set('request', id)} />
      <Card flush title="Requests" actions={<UsageFilters query={query} set={set} />}>
        {records.data === undefined ? (
          records.isError ? (
            <div className="card-body">
              <ErrorNotice error={records.error} retry={() => void records.refetch()} />
            </div>
          ) : (
            <Skeleton lines={8} />
          )
        ) : rows.length === 0 ? (
          <NoCalls isFiltered={isFiltered} clear={() => setQuery({}, { replace: true })} />
        ) : (
          <>
            <UsageTable records={rows} onChoose={(id) => set('request', id)} />
            <TableFoot
              shown={rows.length}
              noun={rows.length === 1 ? 'request' : 'requests'}
              hasMore={records.hasNextPage}
              isLoading={records.isFetchingNextPage}
              more={() => void records.fetchNextPage()}
            />
          </>
        )}
      </Card>
      <RequestDrawer requestId={query.get('request')} onClose={() => set('request', null)} />
    </Page>
  );
}

function NoCalls({ isFiltered, clear }: { readonly isFiltered: boolean; readonly clear: () => void }) {
  if (isFiltered) {
    return (
      <Empty
        icon="search"
        title="No requests match these filters"
        actions={
          <Button variant="default" onClick={clear}>
            Clear filters
          </Button>
        }
      />
    );
  }
  return (
    <Empty
      icon="usage"
      title="No requests yet"
      actions={
        <Button component={Link} to="/quick-start">
          Open quick start
        </Button>
      }
    >
      Send the first request with a snippet of the quick start. It appears here within seconds after it ends.
    </Empty>
  );
}
