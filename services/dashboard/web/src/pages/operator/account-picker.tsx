import { Select } from '@mantine/core';
import { useAccountSearch } from '../../api/operator-queries.js';
import { PICKED_MAX } from '../../format/pick.js';
import { useSearchText } from '../../ui/search.js';

interface AccountPickerProps {
  /** An account ID; null: none selected. */
  readonly value: string | null;
  readonly onChange: (accountId: string | null) => void;
}

/** Selects an account by a part of its name or address, or by its ID. */
export function AccountPicker({ value, onChange }: AccountPickerProps) {
  const { text, setText, wanted } = useSearchText(value ?? '');
  const search = useAccountSearch(wanted);
  const found = (search.data?.data ?? []).map(({ id, name, email }) => ({ value: id, label: `${name} (${email})` }));
  const ids = [value, /^acc_\w+$/.test(wanted) ? wanted : null];
  for (const id of ids) {
    // IDs of accounts beyond the search limit can be selected too.
    if (id !== null && !found.some((choice) => choice.value === id)) found.push({ value: id, label: id });
  }
  return (
    <Select
      aria-label="Filter by account"
      placeholder="Any account"
      size="xs"
      w={260}
      data={found.slice(0, PICKED_MAX)}
      // The server has already filtered the options.
      filter={({ options }) => options}
      value={value}
      searchable
      searchValue={text}
      onSearchChange={setText}
      onChange={onChange}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear: account' }}
      nothingFoundMessage={
        wanted === '' ? 'Type a name, an address or an ID' : search.isFetching ? 'Searching' : 'No match'
      }
    />
  );
}
