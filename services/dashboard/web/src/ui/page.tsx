import { useEffect } from 'react';
import type { ReactNode } from 'react';

interface PageProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its only h1, a line about it, actions, and content. Sets the document's title. */
export function Page({ title, about, actions, children }: PageProps) {
  useDocumentTitle(title);
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** Sets the title of the browser's tab. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Model Gateway`;
  }, [title]);
}

interface CardProps {
  readonly title?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  /** Without padding, for a table. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}

/** A section of a page. */
export function Card({ title, about, actions, flush = false, children }: CardProps) {
  return (
    <section className="card">
      {title !== undefined && (
        <div className="card-head">
          <div>
            <h2>{title}</h2>
            {about !== undefined && <p>{about}</p>}
          </div>
          {actions}
        </div>
      )}
      {flush ? children : <div className="card-body">{children}</div>}
    </section>
  );
}

interface StatProps {
  readonly label: ReactNode;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}

/** A figure with its name. */
export function Stat({ label, value, note, children }: StatProps) {
  return (
    <section className="card stat">
      <h2 className="stat-label">{label}</h2>
      <div className="stat-value">{value}</div>
      {children}
      {note !== undefined && <div className="stat-note">{note}</div>}
    </section>
  );
}
