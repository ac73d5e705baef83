import type { ReactNode } from 'react';
import { useConfig } from '../api/queries.js';
import { useDocumentTitle } from '../ui/page.js';
import { Brand } from './shell.js';
import { TlsNeeded } from './standing-notices.js';

interface DoorProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly foot?: ReactNode;
  readonly children: ReactNode;
}

/** A page for somebody who is not signed in. */
export function Door({ title, about, foot, children }: DoorProps) {
  useDocumentTitle(title);
  const config = useConfig();
  return (
    <div className="door">
      <main className="door-inner">
        <Brand to="/sign-in" />
        {config.data?.tlsNeeded === true && <TlsNeeded />}
        <div className="card">
          <div className="card-body stack">
            <div className="stack tight">
              <h1>{title}</h1>
              {about !== undefined && <p className="muted">{about}</p>}
            </div>
            {children}
          </div>
        </div>
        {foot !== undefined && <div className="door-foot">{foot}</div>}
      </main>
    </div>
  );
}
