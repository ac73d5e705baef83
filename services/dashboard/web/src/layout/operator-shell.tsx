import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import type { OperatorSession } from '@gateway/contracts/pages';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { Link, Navigate, Outlet, useNavigate } from 'react-router';
import { SESSION_KEY, readSession, useConfig, useSession } from '../api/queries.js';
import { request } from '../api/request.js';
import { Icon } from '../ui/icons.js';
import { ErrorNotice } from '../ui/notice.js';
import { PageLoading } from './bare-pages.js';
import { Shell, TlsNeeded } from './shell.js';
import type { NavEntry } from './shell.js';

const OperatorContext = createContext<OperatorSession | null>(null);

/**
 * Returns whether the operator's role has a permission. The server decides; pages only hide or
 * disable actions that it would refuse.
 */
export function useOperatorMay(access: 'write' | 'money'): boolean {
  const operator = useContext(OperatorContext);
  const roles = access === 'write' ? ['admin', 'operator'] : ['admin', 'finance'];
  return operator !== null && roles.includes(operator.role);
}

const ENTRIES: NavEntry[] = [
  { to: '/operator', label: 'Accounts', icon: 'team' },
  { to: '/operator/models', label: 'Models', icon: 'models' },
  { to: '/operator/sources', label: 'Sources', icon: 'server' },
  { to: '/operator/slots', label: 'Running requests', icon: 'slots' },
  { to: '/operator/audit', label: 'Audit log', icon: 'audit' },
];

/** The frame of the operator's pages. */
export function Component() {
  const session = useSession();
  const config = useConfig();
  if (session.data === undefined) {
    return session.isError ? (
      <main className="loading-page">
        <ErrorNotice error={session.error} retry={() => void session.refetch()} />
      </main>
    ) : (
      <PageLoading />
    );
  }
  const operator = session.data?.operator ?? null;
  if (operator === null) return <Navigate to="/operator/sign-in" replace />;
  return (
    <OperatorContext value={operator}>
      <Shell
        home="/operator"
        groups={[ENTRIES]}
        foot={<OperatorMenu operator={operator} isPerson={session.data?.user != null} />}
      >
        {config.data?.tlsNeeded === true && <TlsNeeded />}
        <Outlet />
      </Shell>
    </OperatorContext>
  );
}

function OperatorMenu({ operator, isPerson }: { readonly operator: OperatorSession; readonly isPerson: boolean }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const signOut = async () => {
    await request('/operator/sign-out', { method: 'POST' }).catch(() => undefined);
    client.removeQueries({ queryKey: ['operator'] });
    client.setQueryData(SESSION_KEY, await readSession().catch(() => null));
    await navigate('/operator/sign-in');
  };
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <button type="button" className="person">
          <span className="initial" aria-hidden="true">
            <Icon name="shield" size={15} />
          </span>
          <span className="names">
            <span className="clip small">{operator.name}</span>
            <span className="tiny muted">Operator · {operator.role}</span>
          </span>
          <Icon name="chevron" size={16} />
          <span className="hidden-text">Operator menu</span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<Icon name={other === 'dark' ? 'moon' : 'sun'} size={16} />}
          onClick={() => setColorScheme(other)}
        >
          {other === 'dark' ? 'Dark' : 'Light'} appearance
        </Menu.Item>
        {isPerson && (
          <Menu.Item component={Link} to="/" leftSection={<Icon name="account" size={16} />}>
            Your own account
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="out" size={16} />} onClick={() => void signOut()}>
          End operator session
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
