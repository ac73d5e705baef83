import type { ReactNode } from 'react';
import { Icon } from './icons.js';
import type { IconName } from './icons.js';

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  /** What to do, so that it is empty no longer. */
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** There is nothing yet. */
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

/** In place of what is being asked for. */
export function Bones({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div className="bones" aria-busy="true">
      <span className="hidden-text">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <div className="bone" key={index} style={{ width: `${[92, 68, 80, 54, 74][index % 5]}%` }} />
      ))}
    </div>
  );
}
