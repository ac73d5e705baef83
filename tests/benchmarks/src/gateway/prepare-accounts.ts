import type { Bus } from '@gateway/bus';
import { DEFAULT_KEY_PREFIX, digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import { accountsCreateAccount, accountsCreateKey, billingAddWalletEntry } from '@gateway/contracts/messages';
import { AUTHOR, requireAccepted } from './operator-bus.js';

/** Accounts prepared concurrently. With more, requests time out on a busy machine. */
const PARALLEL = 6;
export const CREDIT_USD = '10.00';
export const CREDIT_NANO_USD = 10_000_000_000n;

export interface PreparedAccount {
  readonly account: string;
  readonly secret: string;
}

/** Creates accounts with one credit and one key each through accounts and billing. */
export async function prepareAccounts(bus: Bus, keyPepper: string, total: number): Promise<PreparedAccount[]> {
  const prepared: PreparedAccount[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < total) {
      const n = (next += 1);
      prepared.push(await prepareAccount(bus, keyPepper, n));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return prepared;
}

async function prepareAccount(bus: Bus, keyPepper: string, n: number): Promise<PreparedAccount> {
  const { account } = requireAccepted(
    await bus.request(accountsCreateAccount, {
      spec: { name: `Bench ${n}`, email: `bench-${n}@example.com`, emailVerified: true, type: 'personal' },
      author: AUTHOR,
    }),
  );
  requireAccepted(
    await bus.request(billingAddWalletEntry, {
      account: account.id,
      spec: { amountUsd: CREDIT_USD, kind: 'credit', reason: 'Benchmark', reference: `bench-${account.id}` },
      author: AUTHOR,
    }),
  );
  const secret = makeSecret(DEFAULT_KEY_PREFIX);
  requireAccepted(
    await bus.request(accountsCreateKey, {
      account: account.id,
      spec: { name: 'Bench' },
      digest: digestOfSecret(secret, keyPepper),
      maskedSecret: maskSecret(secret),
      author: AUTHOR,
    }),
  );
  return { account: account.id, secret };
}
