import { Menu, useMantineColorScheme, useComputedColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { SESSION_KEY } from '../api/queries.js';
import { request } from '../api/request.js';
import { Icon } from '../ui/icons.js';

interface PersonMenuProps {
  readonly name: string;
  readonly isOperator?: boolean;
}

/** The menu of the signed-in person: profile, appearance, sign-out. */
export function PersonMenu({ name, isOperator = false }: PersonMenuProps) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  const signOut = async () => {
    await request('/sign-out', { method: 'POST' }).catch(() => undefined);
    client.clear();
    client.setQueryData(SESSION_KEY, null);
    await navigate('/sign-in');
  };
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <button type="button" className="person">
          <span className="initial" aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
          <span className="names">
            <span className="clip small">{name}</span>
          </span>
          <Icon name="chevron" size={16} />
          <span className="hidden-text">Your menu</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/account" leftSection={<Icon name="account" size={16} />}>
          Profile and sessions
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name={other === 'dark' ? 'moon' : 'sun'} size={16} />}
          onClick={() => setColorScheme(other)}
        >
          {other === 'dark' ? 'Dark' : 'Light'} appearance
        </Menu.Item>
        {isOperator && (
          <Menu.Item component={Link} to="/operator" leftSection={<Icon name="shield" size={16} />}>
            Operator pages
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="out" size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
