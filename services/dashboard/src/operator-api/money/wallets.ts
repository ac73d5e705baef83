import { accountsGetAccount, admissionHeld, billingAddWalletEntry, billingWallet } from '@gateway/contracts/messages';
import { isRefusal, walletEntryCreate, walletEntryCreated, walletView } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { defineRoute, readRoute, respondWith, withAccount } from '../route.js';
import { byId } from '../parameters.js';

export const WALLET_ROUTES = [
  defineRoute({
    ...readRoute(walletView),
    id: 'getWallet',
    path: '/accounts/{id}/wallet',
    summary: 'Returns the settled balance (null: no entry yet) and the amount that running requests hold',
    params: byId,
    async handle({ services, params }) {
      const of = { account: params.id };
      const [account, wallet, held] = await Promise.all([
        services.request(accountsGetAccount, of),
        services.request(billingWallet, of),
        services.request(admissionHeld, of),
      ]);
      if (isRefusal(account)) return account;
      if (isRefusal(held)) return held;
      return { status: 200, body: { ...wallet, heldUsd: formatUsd(BigInt(held.walletNanoUsd)) } };
    },
  }),
  defineRoute({
    id: 'addWalletEntry',
    method: 'POST',
    path: '/accounts/{id}/wallet/entries',
    summary: 'Adds money to a wallet or takes it out; each reference can be used once',
    access: 'money',
    params: byId,
    body: walletEntryCreate,
    answers: { 201: walletEntryCreated },
    refusals: ['state_conflict', 'not_in_force'],
    handle: ({ services, params, body, author }) =>
      withAccount(services, params.id, async () => {
        const answer = await services.request(billingAddWalletEntry, { account: params.id, spec: body, author });
        return respondWith(201, answer, (entry) => entry);
      }),
  }),
];
