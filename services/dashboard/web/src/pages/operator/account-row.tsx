import type { AccountView } from '@gateway/contracts/pages';
import { Link } from 'react-router';
import { StateBadge } from '../../ui/meter.js';
import type { Column } from '../../ui/table.js';
import { ShortId } from '../../ui/copy.js';
import { Time } from '../../ui/time.js';

export const ACCOUNT_COLUMNS: readonly Column[] = [
  { label: 'Account' },
  { label: 'Owner', wide: true },
  { label: 'Type', wide: true },
  { label: 'State' },
  { label: 'Created', wide: true },
];

const TONES = { active: 'good', suspended: 'bad', closed: 'quiet' } as const;

export function AccountState({ state }: { readonly state: AccountView['state'] }) {
  return <StateBadge tone={TONES[state]}>{state.charAt(0).toUpperCase() + state.slice(1)}</StateBadge>;
}

export function AccountRow({ account }: { readonly account: AccountView }) {
  return (
    <tr>
      <th scope="row">
        <Link to={`/operator/accounts/${account.id}`} className="breakable">
          {account.name}
        </Link>
        <div className="cell-sub clip narrow-only" style={{ maxWidth: 200 }} title={account.email}>
          {account.email}
        </div>
        <div className="cell-sub">
          <ShortId id={account.id} />
        </div>
      </th>
      <td>
        <div className="clip" style={{ maxWidth: 260 }} title={account.email}>
          {account.email}
        </div>
        {!account.emailVerified && <div className="cell-sub">not verified</div>}
      </td>
      <td>{account.type === 'team' ? 'Team' : 'Personal'}</td>
      <td>
        <AccountState state={account.state} />
      </td>
      <td>
        <Time at={account.createdAt} />
      </td>
    </tr>
  );
}
