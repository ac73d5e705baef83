import { MultiSelect, Select } from '@mantine/core';
import type { ComboboxItem, ComboboxParsedItem, MultiSelectProps, OptionsFilter, SelectProps } from '@mantine/core';
import { pick } from '../format/pick.js';
import type { Choice } from '../format/pick.js';

type PickerProps = Omit<SelectProps, 'data' | 'filter' | 'limit' | 'searchable'> & { readonly data: readonly Choice[] };

/** A choice among many: typing searches, and a line says what is not shown. */
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

/** Several of many. */
export function PickMany({ data, ...props }: ManyProps) {
  return (
    <MultiSelect nothingFoundMessage="No match" {...props} data={[...data]} searchable filter={searching(undefined)} />
  );
}

/** @param chosen what stands in the field before anybody has typed: then everything is offered */
function searching(chosen: string | undefined): OptionsFilter {
  return ({ options, search }) => {
    const found = pick(
      options.filter((option): option is ComboboxItem => 'value' in option),
      search === chosen ? '' : search,
    );
    return found as ComboboxParsedItem[];
  };
}
