import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useAccountSearch } from '../../api/operator-queries.js';
import { PICKED_MAX } from '../../format/pick.js';

const TYPING_MS = 300;

interface AccountPickerProps {
  /** An id; null: none. */
  readonly value: string | null;
  readonly onChange: (accountId: string | null) => void;
}

/** An account, found by a part of its name or address, or by its id. */
export function AccountPicker({ value, onChange }: AccountPickerProps) {
  const [text, setText] = useState(value ?? '');
  const [wanted] = useDebouncedValue(text.trim().toLowerCase(), TYPING_MS);
  const search = useAccountSearch(wanted);
  const found = (search.data?.found ?? []).map(({ id, name, email }) => ({ value: id, label: `${name} (${email})` }));
  const ids = [value, /^acc_\w+$/.test(wanted) ? wanted : null];
  for (const id of ids) {
    // Of an account that is not among those that were searched.
    if (id !== null && !found.some((choice) => choice.value === id)) found.push({ value: id, label: id });
  }
  return (
    <Select
      aria-label="Only of this account"
      placeholder="Any account"
      size="xs"
      w={260}
      data={found.slice(0, PICKED_MAX)}
      // The server's answer is what fits.
      filter={({ options }) => options}
      value={value}
      searchable
      searchValue={text}
      onSearchChange={setText}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear: account' }}
      nothingFoundMessage={
        wanted === '' ? 'Type a name, an address or an id' : search.isFetching ? 'Searching' : 'No match'
      }
    />
  );
}
