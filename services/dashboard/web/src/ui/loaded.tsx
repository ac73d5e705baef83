import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Skeleton } from './empty.js';
import { ErrorNotice } from './notice.js';

interface LoadedProps<T> {
  readonly query: UseQueryResult<T>;
  readonly lines?: number;
  readonly children: (data: T) => ReactNode;
}

/**
 * Shows the data of a query; until then a skeleton, or the error with a retry button. Old data
 * stays if a refresh fails.
 */
export function Loaded<T>({ query, lines, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) {
    return (
      <div className="card-body">
        <ErrorNotice error={query.error} retry={() => void query.refetch()} />
      </div>
    );
  }
  return <Skeleton lines={lines} />;
}
