import { useState } from 'react';
import { Navigate, Outlet, useLocation } from 'react-router';
import { useConfig, useSession } from '../api/queries.js';
import { ErrorNotice, Notice } from '../ui/notice.js';
import { CurrentProvider } from './current-account.js';
import type { Current } from './current-account.js';
import { PageLoading } from './bare-pages.js';
import { AccountMenu } from './account-menu.js';
import { PersonMenu } from './person-menu.js';
import { Shell, TlsNeeded } from './shell.js';
import type { NavEntry } from './shell.js';

const CHOSEN_KEY = 'gw-account';

/** The frame of an account's pages, for signed-in people only. */
export function AccountShell() {
  const session = useSession();
  const config = useConfig();
  const location = useLocation();
  const [chosen, setChosen] = useState(() => readChosen());
  const fault = session.error ?? config.error;
  if (fault !== null && (session.data === undefined || config.data === undefined)) {
    return (
      <main className="loading-page">
        <ErrorNotice error={fault} retry={() => void Promise.all([session.refetch(), config.refetch()])} />
      </main>
    );
  }
  if (session.data === undefined || config.data === undefined) return <PageLoading />;
  if (session.data === null || session.data.user === null) {
    const next = location.pathname === '/' ? '' : `?next=${encodeURIComponent(location.pathname + location.search)}`;
    return <Navigate to={session.data?.operator == null ? `/sign-in${next}` : '/operator'} replace />;
  }
  const { user, accounts } = session.data;
  const account = accounts.find(({ id }) => id === chosen) ?? accounts[0];
  if (account === undefined) return <NoAccount />;
  const current: Current = {
    user,
    account,
    accounts,
    config: config.data,
    isManager: account.role !== 'member',
    choose(id) {
      keepChosen(id);
      setChosen(id);
    },
  };
  return (
    <CurrentProvider value={current}>
      <Shell
        home="/"
        groups={entriesOf(current)}
        head={<AccountMenu />}
        foot={<PersonMenu name={user.email} isOperator={session.data.operator !== null} />}
      >
        {config.data.tlsNeeded && <TlsNeeded />}
        {account.state !== 'active' && <NotActive state={account.state} />}
        {/* The key resets the page's state when the account changes. */}
        <Outlet key={account.id} />
      </Shell>
    </CurrentProvider>
  );
}

function entriesOf({ isManager, account, config }: Current): NavEntry[][] {
  const team = config.teamsEnabled && account.type === 'team';
  return [
    [
      { to: '/', label: 'Overview', icon: 'overview' },
      { to: '/keys', label: 'API keys', icon: 'key' },
      { to: '/usage', label: 'Usage', icon: 'usage' },
      { to: '/playground', label: 'Playground', icon: 'playground' },
      { to: '/models', label: 'Models', icon: 'models' },
      { to: '/quick-start', label: 'Quick start', icon: 'start' },
    ],
    [
      ...(isManager ? [{ to: '/billing', label: 'Billing', icon: 'billing' } as const] : []),
      ...(isManager && team ? [{ to: '/team', label: 'Team', icon: 'team' } as const] : []),
      { to: '/account', label: 'Profile', icon: 'account' },
    ],
  ];
}

function NotActive({ state }: { readonly state: 'suspended' | 'closed' }) {
  return (
    <Notice tone="bad" title={`This account is ${state}`}>
      All its keys are refused. Contact the operator of this gateway.
    </Notice>
  );
}

function NoAccount() {
  return (
    <main className="loading-page">
      <Notice tone="warn" title="You are not a member of any account">
        You were removed from your account. Ask its owner for an invitation, or sign up with another address.
      </Notice>
    </main>
  );
}

function readChosen(): string | null {
  try {
    return window.localStorage.getItem(CHOSEN_KEY);
  } catch {
    return null;
  }
}

function keepChosen(id: string): void {
  try {
    window.localStorage.setItem(CHOSEN_KEY, id);
  } catch {
    // Without storage the choice lasts until the page is reloaded.
  }
}
