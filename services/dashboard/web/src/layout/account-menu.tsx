import { Menu } from '@mantine/core';
import { Icon } from '../ui/icons.js';
import { useCurrent } from './current-account.js';

/** The account one works on; a menu when there are several. */
export function AccountMenu() {
  const { account, accounts, choose } = useCurrent();
  if (accounts.length < 2) return null;
  return (
    <Menu position="bottom-start" width="target">
      <Menu.Target>
        <button type="button" className="person boxed">
          <span className="names">
            <span className="clip strong">{account.name}</span>
            <span className="clip tiny muted">{about(account)}</span>
          </span>
          <Icon name="chevron" size={16} />
          <span className="hidden-text">Choose another account</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {accounts.map((entry) => (
          <Menu.Item
            key={entry.id}
            onClick={() => choose(entry.id)}
            rightSection={entry.id === account.id ? <Icon name="check" size={16} /> : null}
          >
            <span className="clip" style={{ display: 'block' }}>
              {entry.name}
            </span>
            <span className="tiny muted">{about(entry)}</span>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function about({ type, role }: { readonly type: string; readonly role: string }): string {
  return type === 'team' ? `Team · ${role}` : 'Personal';
}
