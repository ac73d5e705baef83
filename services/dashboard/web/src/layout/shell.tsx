import { ActionIcon, Drawer } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Link, NavLink, useLocation } from 'react-router';
import { Icon } from '../ui/icons.js';
import type { IconName } from '../ui/icons.js';
import { Notice } from '../ui/notice.js';
import './layout.css';

export interface NavEntry {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
}

interface ShellProps {
  readonly home: string;
  readonly groups: readonly (readonly NavEntry[])[];
  readonly head?: ReactNode;
  readonly foot: ReactNode;
  readonly children: ReactNode;
}

/** Navigation at the side of the page; on a narrow screen it opens with a button. */
export function Shell({ home, groups, head, foot, children }: ShellProps) {
  const [opened, setOpened] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => {
    setOpened(false);
    window.scrollTo(0, 0);
  }, [pathname]);
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <header className="topbar">
        <Brand to={home} />
        <ActionIcon variant="subtle" size={36} aria-label="Open the navigation" onClick={() => setOpened(true)}>
          <Icon name="menu" size={22} />
        </ActionIcon>
      </header>
      <aside className="sidebar" aria-label="Account and navigation">
        <Brand to={home} />
        {head}
        <Navigation groups={groups} />
        <div className="sidebar-foot">{foot}</div>
      </aside>
      <Drawer opened={opened} onClose={() => setOpened(false)} title="Model Gateway" size={300} position="right">
        <div className="drawer-nav">
          {head}
          <Navigation groups={groups} />
          {foot}
        </div>
      </Drawer>
      <main className="main" id="content" tabIndex={-1}>
        <div className="content">{children}</div>
      </main>
    </div>
  );
}

/** The product's name and logo. */
export function Brand({ to }: { readonly to: string }) {
  return (
    <Link className="brand" to={to}>
      <img src="/mark.svg" alt="" width={26} height={26} />
      Model Gateway
    </Link>
  );
}

function Navigation({ groups }: { readonly groups: ShellProps['groups'] }) {
  return (
    <nav aria-label="Pages">
      {groups.map((entries, index) => (
        <div className="nav" key={index} style={index === 0 ? undefined : { marginTop: 18 }}>
          {entries.map(({ to, label, icon }) => (
            <NavLink key={to} to={to} end={to === '/' || to === '/operator'}>
              <Icon name={icon} />
              {label}
            </NavLink>
          ))}
        </div>
      ))}
    </nav>
  );
}

/** Warning about plain HTTP on a host that is not this machine. */
export function TlsNeeded() {
  return (
    <Notice tone="warn" title="This dashboard is served without encryption">
      Everyone on the network can read your passwords and keys. Ask the operator to serve the dashboard over HTTPS
      before you use it.
    </Notice>
  );
}
