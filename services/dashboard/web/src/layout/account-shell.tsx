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

/** Pages of an account: only for people who are signed in. */
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
        {/* Another account is another page: nothing of the one before may stay. */}
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
      All of its keys are refused. Ask whoever runs this gateway.
    </Notice>
  );
}

function NoAccount() {
  return (
    <main className="loading-page">
      <Notice tone="warn" title="You belong to no account">
        You were removed from the account that you signed up for. Ask its owner, or sign up with another address.
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
    // Without storage the choice lasts as long as the page.
  }
}
