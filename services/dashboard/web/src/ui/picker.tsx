import { MultiSelect, Select } from '@mantine/core';
import type { ComboboxItem, ComboboxParsedItem, MultiSelectProps, OptionsFilter, SelectProps } from '@mantine/core';
import { filterOptions } from '../format/pick.js';
import type { Choice } from '../format/pick.js';

type PickerProps = Omit<SelectProps, 'data' | 'filter' | 'limit' | 'searchable'> & { readonly data: readonly Choice[] };

/** A searchable choice; the last line counts the hidden options. */
export function Picker({ data, ...props }: PickerProps) {
  const chosen = data.find(({ value }) => value === props.value)?.label;
  return (
    <Select
      nothingFoundMessage="No match"
      {...props}
      data={[...data]}
      searchable
      selectFirstOptionOnChange
      filter={searching(chosen)}
    />
  );
}

type ManyProps = Omit<MultiSelectProps, 'data' | 'filter' | 'limit' | 'searchable'> & {
  readonly data: readonly Choice[];
};

/** Several searchable choices. */
export function PickMany({ data, ...props }: ManyProps) {
  return (
    <MultiSelect nothingFoundMessage="No match" {...props} data={[...data]} searchable filter={searching(undefined)} />
  );
}

/** @param chosen the field's text before typing; while it is unchanged, all options are shown */
function searching(chosen: string | undefined): OptionsFilter {
  return ({ options, search }) => {
    const found = filterOptions(
      options.filter((option): option is ComboboxItem => 'value' in option),
      search === chosen ? '' : search,
    );
    return found as ComboboxParsedItem[];
  };
}
