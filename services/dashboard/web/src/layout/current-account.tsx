import type { PageSession, PagesConfig, SessionAccount } from '@gateway/contracts/pages';
import { createContext, useContext } from 'react';

/** The signed-in person and the current account. */
export interface Current {
  readonly user: NonNullable<PageSession['user']>;
  readonly account: SessionAccount;
  readonly accounts: readonly SessionAccount[];
  readonly config: PagesConfig;
  /** The owner or an admin, who may see and change everything in the account. */
  readonly isManager: boolean;
  choose(accountId: string): void;
}

const CurrentContext = createContext<Current | null>(null);
export const CurrentProvider = CurrentContext.Provider;

/** Throws outside of the account shell. */
export function useCurrent(): Current {
  const current = useContext(CurrentContext);
  if (current === null) throw new Error('useCurrent must be used below the account shell');
  return current;
}
