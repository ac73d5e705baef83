import { ActionIcon } from '@mantine/core';
import { createContext, useCallback, useContext, useState } from 'react';
import type { ReactNode } from 'react';
import { Icon } from './icons.js';

interface Toast {
  readonly id: number;
  readonly text: string;
}

const SHOWN_MS = 5_000;
const TOASTS_MAX = 3;
const ToastContext = createContext<(text: string) => void>(() => undefined);

/** Returns a function that shows and announces a short message. */
export const useToast = (): ((text: string) => void) => useContext(ToastContext);

/** Shows toasts in a live region, which must exist before its first message. */
export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = useCallback((id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)), []);
  const add = useCallback(
    (text: string) => {
      const id = Date.now() + Math.random();
      setToasts((shown) => [...shown.filter((toast) => toast.text !== text).slice(-TOASTS_MAX + 1), { id, text }]);
      setTimeout(() => remove(id), SHOWN_MS);
    },
    [remove],
  );
  return (
    <ToastContext value={add}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div className="toast" key={toast.id}>
            <span>{toast.text}</span>
            <ActionIcon
              variant="transparent"
              size={24}
              aria-label="Dismiss"
              onClick={() => remove(toast.id)}
              style={{ color: 'inherit' }}
            >
              <Icon name="close" size={14} />
            </ActionIcon>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
