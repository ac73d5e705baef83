import { useKeys, useMembers, useModels } from '../../api/queries.js';
import { RANGES } from '../../format/range.js';
import { useCurrent } from '../../layout/current-account.js';
import { Picker } from '../../ui/picker.js';

export const FILTERS = ['range', 'key', 'member', 'model', 'outcome'] as const;
export type FilterName = (typeof FILTERS)[number];

interface UsageFiltersProps {
  readonly query: URLSearchParams;
  readonly set: (name: FilterName, value: string | null) => void;
}

const OUTCOMES = [
  { value: 'settled', label: 'Billed' },
  { value: 'voided', label: 'Failed' },
  { value: 'expired', label: 'Lost' },
];

export function UsageFilters({ query, set }: UsageFiltersProps) {
  const { account, isManager } = useCurrent();
  const isTeam = account.type === 'team' && isManager;
  const keys = useKeys(account.id);
  const models = useModels(account.id);
  const members = useMembers(account.id, isTeam);
  const choices: { name: FilterName; label: string; data: { value: string; label: string }[]; width: number }[] = [
    {
      name: 'range',
      label: 'Any time',
      data: RANGES.map(({ value, label }) => ({ value, label: `Last ${label}` })),
      width: 130,
    },
    {
      name: 'key',
      label: 'Any key',
      data: (keys.data?.data ?? []).map(({ id, name, state }) => ({
        value: id,
        label: state === 'revoked' ? `${name} (revoked)` : name,
      })),
      width: 150,
    },
    ...(isTeam
      ? [
          {
            name: 'member' as const,
            label: 'Any member',
            data: (members.data?.data ?? []).map(({ id, email }) => ({ value: id, label: email })),
            width: 160,
          },
        ]
      : []),
    {
      name: 'model',
      label: 'Any model',
      data: (models.data ?? []).map(({ id }) => ({ value: id, label: id })),
      width: 180,
    },
    { name: 'outcome', label: 'Any outcome', data: OUTCOMES, width: 130 },
  ];
  return (
    <div className="row" role="group" aria-label="Filters">
      {choices.map(({ name, label, data, width }) => (
        <Picker
          key={name}
          aria-label={label}
          placeholder={label}
          size="xs"
          w={width}
          data={data}
          value={query.get(name)}
          onChange={(value) => set(name, value)}
          clearable
          clearButtonProps={{ 'aria-label': `Clear: ${label}` }}
          comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
        />
      ))}
    </div>
  );
}
