import { ActionIcon, Menu } from '@mantine/core';
import { Link } from 'react-router';
import type { PageKey } from '@gateway/contracts/pages';
import { formatUsd, parseNano } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Icon } from '../../ui/icons.js';
import { StateBadge, Meter, type Tone } from '../../ui/meter.js';
import { type Column, Table } from '../../ui/table.js';
import { Ago, Amount, Time } from '../../ui/time.js';
import type { Change } from './key-change.js';

/** Most models that a row names; the others are counted. */
const MODELS_NAMED = 2;

interface KeyTableProps {
  readonly keys: readonly PageKey[];
  readonly onChange: (change: Change) => void;
}

export function KeyTable({ keys, onChange }: KeyTableProps) {
  const { account } = useCurrent();
  const isTeam = account.type === 'team';
  const columns: Column[] = [
    { label: isTeam ? 'Key and member' : 'Name and secret' },
    { label: 'State', wide: true },
    { label: 'This month' },
    { label: 'Models', wide: true },
    { label: 'Last used', wide: true },
    { label: 'Actions', silent: true, pinned: true },
  ];
  return (
    <Table label="API keys" columns={columns}>
      {keys.map((key) => (
        <tr key={key.id} className={key.state === 'active' ? undefined : 'quiet'}>
          <th scope="row" style={{ minWidth: 120 }}>
            <div className="cell-main breakable two-lines" title={key.name}>
              {key.name}
            </div>
            <div className="cell-sub code nowrap">{key.maskedSecret}</div>
            {isTeam && (
              <div className="cell-sub clip" style={{ maxWidth: 190 }} title={key.memberEmail}>
                {key.memberEmail}
              </div>
            )}
          </th>
          <td>
            <KeyState state={key.state} />
            {key.expiresAt !== null && key.state === 'active' && (
              <div className="cell-sub">
                expires <Time at={key.expiresAt} />
              </div>
            )}
          </td>
          <td style={{ minWidth: 110 }}>
            <div className="narrow-only">
              <KeyState state={key.state} />
            </div>
            <Spend keyView={key} />
          </td>
          <td>
            <Models models={key.allowedModels} />
          </td>
          <td className="nowrap">
            {key.lastUsedAt === null ? <span className="muted">Never</span> : <Ago at={key.lastUsedAt} />}
            <div className="cell-sub">
              created <Ago at={key.createdAt} />
            </div>
          </td>
          <td className="right pinned">
            <KeyActions keyView={key} onChange={onChange} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Spend({ keyView: { name, monthSpendUsd, monthlySpendCapUsd } }: { readonly keyView: PageKey }) {
  if (monthlySpendCapUsd === null) {
    return (
      <>
        <Amount usd={monthSpendUsd} />
        <div className="cell-sub">no cap</div>
      </>
    );
  }
  const percent = Number((parseNano(monthSpendUsd) * 100n) / parseNano(monthlySpendCapUsd));
  return (
    <div className="stack tight">
      <div>
        <Amount usd={monthSpendUsd} /> <span className="num muted">of {formatUsd(monthlySpendCapUsd)}</span>
      </div>
      <Meter label={`${name}: share of the cap`} percent={Math.min(100, percent)} />
    </div>
  );
}

function Models({ models }: { readonly models: PageKey['allowedModels'] }) {
  if (models === null) return <span className="muted">All models of the account</span>;
  const rest = models.length - MODELS_NAMED;
  return (
    <div title={models.join('\n')}>
      {models.slice(0, MODELS_NAMED).map((model) => (
        <div className="code small nowrap" key={model}>
          {model}
        </div>
      ))}
      {rest > 0 && <div className="cell-sub">and {rest} more</div>}
    </div>
  );
}

function KeyActions({
  keyView: key,
  onChange,
}: {
  readonly keyView: PageKey;
  readonly onChange: KeyTableProps['onChange'];
}) {
  const isEnded = key.state === 'revoked' || key.state === 'expired';
  return (
    <Menu width={190}>
      <Menu.Target>
        <ActionIcon variant="subtle" size={36} aria-label={`Actions of ${key.name}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to={`/usage?key=${key.id}`} leftSection={<Icon name="usage" size={16} />}>
          Show usage
        </Menu.Item>
        <Menu.Item
          disabled={key.state !== 'active'}
          leftSection={<Icon name="rotate" size={16} />}
          onClick={() => onChange({ verb: 'rotate', key })}
        >
          Rotate secret
        </Menu.Item>
        <Menu.Item
          disabled={isEnded}
          leftSection={<Icon name="close" size={16} />}
          onClick={() => onChange({ verb: 'revoke', key })}
        >
          Revoke
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const STATES: Readonly<Record<PageKey['state'], { readonly tone: Tone; readonly word: string }>> = {
  active: { tone: 'good', word: 'Active' },
  suspended: { tone: 'warn', word: 'Suspended' },
  revoked: { tone: 'quiet', word: 'Revoked' },
  expired: { tone: 'quiet', word: 'Expired' },
};

export function KeyState({ state }: { readonly state: PageKey['state'] }) {
  return <StateBadge tone={STATES[state].tone}>{STATES[state].word}</StateBadge>;
}
