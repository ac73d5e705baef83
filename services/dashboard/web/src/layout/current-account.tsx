import type { PageSession, PagesConfig, SessionAccount } from '@gateway/contracts/pages';
import { createContext, useContext } from 'react';

/** Who is signed in, and on which account they work. */
export interface Current {
  readonly user: NonNullable<PageSession['user']>;
  readonly account: SessionAccount;
  readonly accounts: readonly SessionAccount[];
  readonly config: PagesConfig;
  /** Owner or admin: sees and changes everything of the account. */
  readonly isManager: boolean;
  choose(accountId: string): void;
}

const CurrentContext = createContext<Current | null>(null);
export const CurrentProvider = CurrentContext.Provider;

/** Only below the account shell. */
export function useCurrent(): Current {
  const current = useContext(CurrentContext);
  if (current === null) throw new Error('this part stands only on pages of an account');
  return current;
}
