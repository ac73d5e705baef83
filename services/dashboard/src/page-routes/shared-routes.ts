import { isRefusal, type LedgerTransactionView } from '@gateway/contracts/operator';
import { z } from 'zod';
import { customersTransaction } from '../domain/customer-entries.js';
import { refusePage } from '../domain/page-refusal.js';
import { accountRoute, type PageRoute } from '../pages/page-route.js';
import type { Handled, OperatorRoute } from '../operator/route.js';
import { ALERT_ROUTES, WEBHOOK_ROUTES } from '../routes/alert-routes.js';
import { LEDGER_ROUTES } from '../routes/billing-routes.js';
import { MEMBER_ROUTES } from '../routes/member-routes.js';
import { WALLET_ROUTES } from '../routes/wallet-routes.js';

/** Routes of the operator API about one account that its owner and admins use as they are. */
const SHARED = [
  ...['listLedger', 'listStatementLines', 'getWallet', 'listAlerts'],
  ...['getWebhook', 'putWebhook', 'deleteWebhook', 'rotateWebhookSecret', 'listWebhookDeliveries'],
  ...['listMembers', 'deleteMember'],
];
/**
 * Those of whoever has verified the address. A webhook outlasts who made it: a stranger who signed up with somebody's address would
 * leave one that goes on telling them of the account.
 */
const NEEDS_VERIFIED = ['putWebhook', 'rotateWebhookSecret'];
const OPERATOR_ROUTES = [...LEDGER_ROUTES, ...WALLET_ROUTES, ...ALERT_ROUTES, ...WEBHOOK_ROUTES, ...MEMBER_ROUTES];
const ACCOUNT_PREFIX = '/accounts/{id}';

export const SHARED_PAGE_ROUTES = OPERATOR_ROUTES.filter(({ id }) => SHARED.includes(id)).map(ofAccount);

/** The same verb with the account of the path in place of the parameter, and the person as its actor. */
function ofAccount(shared: OperatorRoute): PageRoute {
  if (!shared.path.startsWith(`${ACCOUNT_PREFIX}/`)) throw new Error(`${shared.id} is not about one account`);
  const { id: _account, ...others } = shared.params.shape;
  return accountRoute('manager', {
    id: shared.id,
    method: shared.method,
    path: shared.path.slice(ACCOUNT_PREFIX.length),
    params: z.object(others),
    query: shared.query,
    body: shared.body,
    async handle({ door, session, account, actor, params, query, body }) {
      if (!session.user.emailVerified && NEEDS_VERIFIED.includes(shared.id)) {
        return refusePage('email_not_verified', `the e-mail address ${session.user.email} is not verified yet`);
      }
      const asked = { door, actor, params: { id: account.id, ...params }, query, body, command: undefined };
      const handled = await shared.handle(asked);
      return shared.id === 'listLedger' ? withoutCosts(handled) : handled;
    },
  });
}

function withoutCosts(handled: Handled): Handled {
  if (isRefusal(handled)) return handled;
  const { data, ...page } = handled.body as { data: LedgerTransactionView[] };
  return { ...handled, body: { ...page, data: data.map(customersTransaction) } };
}
