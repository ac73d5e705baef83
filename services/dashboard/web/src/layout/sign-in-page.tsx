import type { ReactNode } from 'react';
import { useConfig } from '../api/queries.js';
import { useDocumentTitle } from '../ui/page.js';
import { Brand, TlsNeeded } from './shell.js';

interface SignInPageProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly foot?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of pages without a session. */
export function SignInPage({ title, about, foot, children }: SignInPageProps) {
  useDocumentTitle(title);
  const config = useConfig();
  return (
    <div className="sign-in-page">
      <main className="sign-in-page-inner">
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
        {foot !== undefined && <div className="sign-in-page-foot">{foot}</div>}
      </main>
    </div>
  );
}
