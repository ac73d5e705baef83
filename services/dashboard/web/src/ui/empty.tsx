import type { ReactNode } from 'react';
import { Icon } from './icons.js';
import type { IconName } from './icons.js';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** The next step that fills it. */
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** Shown in place of an empty list. */
export function Empty({ icon, title, children, actions }: EmptyProps) {
  return (
    <div className="empty">
      <Icon name={icon} size={40} />
      <h3>{title}</h3>
      {children !== undefined && <p>{children}</p>}
      {actions !== undefined && <div className="actions">{actions}</div>}
    </div>
  );
}

/** Shown while data is loading. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div className="bones" aria-busy="true">
      <span className="hidden-text">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <div className="bone" key={index} style={{ width: `${[92, 68, 80, 54, 74][index % 5]}%` }} />
      ))}
    </div>
  );
}
