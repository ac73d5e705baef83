import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page } from '../api/read-all.js';
import { Skeleton } from './empty.js';
import { ErrorNotice } from './notice.js';
import { Card } from './page.js';
import { Table, TableFoot } from './table.js';
import type { Column } from './table.js';

interface ListCardProps<T> {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly list: UseInfiniteQueryResult<InfiniteData<Page<T>>>;
  readonly columns: readonly Column[];
  /** Singular and plural. */
  readonly nouns: readonly [string, string];
  readonly empty: ReactNode;
  readonly row: (entry: T) => ReactNode;
}

/** A list that is loaded page by page, as a table in a card. */
export function ListCard<T>({ title, about, actions, list, columns, nouns, empty, row }: ListCardProps<T>) {
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Card flush title={title} about={about} actions={actions}>
      {list.data === undefined && list.isError && (
        <div className="card-body">
          <ErrorNotice error={list.error} retry={() => void list.refetch()} />
        </div>
      )}
      {list.data === undefined && !list.isError && <Skeleton lines={6} />}
      {list.data !== undefined && rows.length === 0 && empty}
      {rows.length > 0 && (
        <>
          <Table label={title} columns={columns}>
            {rows.map(row)}
          </Table>
          <TableFoot
            shown={rows.length}
            noun={nouns[rows.length === 1 ? 0 : 1]}
            hasMore={list.hasNextPage}
            isLoading={list.isFetchingNextPage}
            more={() => void list.fetchNextPage()}
          />
        </>
      )}
    </Card>
  );
}
