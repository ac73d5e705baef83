import type { ReactNode } from 'react';
import { Button } from '@mantine/core';

export interface Column {
  readonly label: ReactNode;
  readonly right?: boolean;
  /** The label is only for screen readers, because the cells explain themselves. */
  readonly silent?: boolean;
  /**
   * Hidden on a phone, so that the important columns need no scrolling. `own`: cells hide
   * themselves by the class `wide-only`, for tables with joined cells.
   */
  readonly wide?: boolean | 'own';
  /** Stays at the right edge while other columns scroll; its cells have the class `pinned`. */
  readonly pinned?: boolean;
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly children: ReactNode;
}

/** A table. A wide one scrolls within its region, also by keyboard. */
export function Table({ label, columns, children }: TableProps) {
  return (
    <div className="table-wrap" tabIndex={0} role="region" aria-label={label}>
      <table className={['data', ...wideOnes(columns)].join(' ')}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={index} scope="col" className={headClass(column)}>
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

function headClass({ right, wide, pinned }: Column): string {
  return [right === true && 'right', wide === 'own' && 'wide-only', pinned === true && 'pinned']
    .filter(Boolean)
    .join(' ');
}

/** Returns the class for each column that is hidden on a phone. */
function wideOnes(columns: readonly Column[]): string[] {
  return columns.flatMap(({ wide }, index) => (wide === true ? [`wide-${index + 1}`] : []));
}

interface MoreProps {
  readonly shown: number;
  readonly noun: string;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly more: () => void;
}

/** The foot of a list that is loaded page by page. */
export function TableFoot({ shown, noun, hasMore, isLoading, more }: MoreProps) {
  return (
    <div className="card-foot row apart">
      <span className="muted small num" aria-live="polite">
        {shown.toLocaleString('en-US')} {noun} shown{hasMore ? '; there are more' : ''}
      </span>
      {hasMore && (
        <Button variant="default" size="xs" loading={isLoading} onClick={more}>
          Show more
        </Button>
      )}
    </div>
  );
}
