import { accountsGetAccount } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import type { Handled } from './route.js';
import type { Door } from '../ports.js';

/** Asks only for an account that exists: other services know an account by what they keep of it, which may be nothing. */
export async function ofAccount(door: Door, account: string, ask: () => Promise<Handled>): Promise<Handled> {
  const found = await door.services.request(accountsGetAccount, { account });
  return isRefusal(found) ? found : ask();
}
