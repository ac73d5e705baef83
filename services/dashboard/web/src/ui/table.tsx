import type { ReactNode } from 'react';
import { Button } from '@mantine/core';

export interface Column {
  readonly label: ReactNode;
  readonly right?: boolean;
  /** A column whose cells speak for themselves; the label is for those who do not see. */
  readonly silent?: boolean;
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly children: ReactNode;
}

/** Rows under heads; a wide one scrolls within itself, also by keyboard. */
export function Table({ label, columns, children }: TableProps) {
  return (
    <div className="table-wrap" tabIndex={0} role="region" aria-label={label}>
      <table className="data">
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" className={column.right === true ? 'right' : undefined}>
                {column.silent === true ? <span className="hidden-text">{column.label}</span> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface MoreProps {
  readonly shown: number;
  readonly noun: string;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly more: () => void;
}

/** The foot of a list that grows by pages. */
export function TableFoot({ shown, noun, hasMore, isLoading, more }: MoreProps) {
  return (
    <div className="card-foot row apart">
      <span className="muted small num" aria-live="polite">
        {shown.toLocaleString('en-US')} {noun} shown{hasMore ? '' : ' — that is all'}
      </span>
      {hasMore && (
        <Button variant="default" size="xs" loading={isLoading} onClick={more}>
          Show more
        </Button>
      )}
    </div>
  );
}
