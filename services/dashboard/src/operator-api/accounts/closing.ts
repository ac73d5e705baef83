import { accountsCloseAccount } from '@gateway/contracts/messages';
import { accountView } from '@gateway/contracts/operator';
import { answerWith, route } from '../route.js';
import { byId } from '../parameters.js';

export const CLOSING_ROUTES = [
  route({
    id: 'closeAccount',
    method: 'POST',
    path: '/accounts/{id}/close',
    summary:
      'Ends an account for ever: subscription, keys and running calls; names and addresses are erased, the ledger stays. Its wallet must be zero',
    access: 'write',
    params: byId,
    answers: { 200: accountView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ door, params, actor }) {
      const answer = await door.services.request(accountsCloseAccount, { account: params.id, actor });
      return answerWith(200, answer, ({ account }) => account);
    },
  }),
];
