import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { FullList } from '../api/read-all.js';
import { Empty } from './empty.js';
import { Icon } from './icons.js';
import { Loaded } from './loaded.js';
import { Card } from './page.js';
import { type Column, Table } from './table.js';

const TYPING_MS = 300;

/** The text of a search field. `wanted` has it without case when the user pauses. */
export function useSearchText(initial = '') {
  const [text, setText] = useState(initial);
  const [wanted] = useDebouncedValue(text.trim().toLowerCase(), TYPING_MS);
  return { text, setText, wanted };
}

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly search: ReturnType<typeof useSearchText>;
}

/** The search field of a page's list. */
export function SearchField({ label, placeholder, search: { text, setText } }: SearchFieldProps) {
  return (
    <TextInput
      aria-label={label}
      placeholder={placeholder}
      w={280}
      leftSection={<Icon name="search" size={16} />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

interface FoundCardProps<T> {
  readonly query: UseQueryResult<FullList<T>>;
  readonly columns: readonly Column[];
  /** Plural. */
  readonly noun: string;
  /** Shown if nothing matches: other texts to search for. */
  readonly hint: string;
  /** How to find entries after those that were searched. */
  readonly beyond: string;
  readonly row: (entry: T) => ReactNode;
}

/** The entries that a search found, as a table in a card. */
export function FoundCard<T>({ query, columns, noun, hint, beyond, row }: FoundCardProps<T>) {
  return (
    <Card flush title="Found">
      <Loaded query={query}>
        {({ data, isWhole }) => (
          <div role="status">
            {data.length === 0 ? (
              <Empty icon="search" title={`No ${noun} match`}>
                {isWhole ? hint : `Only the first 2,000 ${noun} were searched. ${beyond}`}
              </Empty>
            ) : (
              <Table label={`Found ${noun}`} columns={columns}>
                {data.map(row)}
              </Table>
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
