import type { LedgerTransactionView, MemberView } from '@gateway/contracts/operator';
import { z } from 'zod';
import { toCustomerTransaction } from '../usage/customer-lines.js';
import { defineRoute, type PageRoute } from '../route.js';
import { isRouteRefusal } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import type { OperatorRoute } from '../../operator-api/route.js';
import { ALERT_ROUTES, WEBHOOK_ROUTES } from '../../operator-api/accounts/alerts.js';
import { LEDGER_ROUTES } from '../../operator-api/money/ledger.js';
import { MEMBER_ROUTES } from '../../operator-api/accounts/members.js';
import { WALLET_ROUTES } from '../../operator-api/money/wallets.js';
import { toPageMember } from './team.js';

/** Operator API routes about one account that its owner and admins use unchanged. */
const SHARED = [
  ...['listLedger', 'listStatementLines', 'getWallet', 'listAlerts'],
  ...['getWebhook', 'putWebhook', 'deleteWebhook', 'rotateWebhookSecret', 'listWebhookDeliveries'],
  ...['listMembers', 'deleteMember'],
];
const OPERATOR_ROUTES = [...LEDGER_ROUTES, ...WALLET_ROUTES, ...ALERT_ROUTES, ...WEBHOOK_ROUTES, ...MEMBER_ROUTES];
const ACCOUNT_PREFIX = '/accounts/{id}';

export const SHARED_PAGE_ROUTES = OPERATOR_ROUTES.filter(({ id }) => SHARED.includes(id)).map(ofAccount);

/** Converts an operator route: the account comes from the path, and the author is the person. */
function ofAccount(shared: OperatorRoute): PageRoute {
  if (!shared.path.startsWith(`${ACCOUNT_PREFIX}/`)) throw new Error(`${shared.id} is not about one account`);
  const { id: _account, ...others } = shared.params.shape;
  return defineRoute({
    id: shared.id,
    access: 'manager',
    method: shared.method,
    path: `/accounts/{account}${shared.path.slice(ACCOUNT_PREFIX.length)}`,
    params: z.object(others),
    query: shared.query,
    body: shared.body,
    async handle({ params, ...request }) {
      const own = { id: request.account.id, ...params };
      const handled = await shared.handle({ ...request, params: own, may: () => false, command: undefined });
      if (shared.id === 'listLedger') return withoutCosts(handled);
      return shared.id === 'listMembers' ? withoutVerified(handled) : handled;
    },
  });
}

function withoutVerified(handled: RouteResult): RouteResult {
  if (isRouteRefusal(handled)) return handled;
  const { data, ...page } = handled.body as { data: MemberView[] };
  return { ...handled, body: { ...page, data: data.map(toPageMember) } };
}

function withoutCosts(handled: RouteResult): RouteResult {
  if (isRouteRefusal(handled)) return handled;
  const { data, ...page } = handled.body as { data: LedgerTransactionView[] };
  return { ...handled, body: { ...page, data: data.map(toCustomerTransaction) } };
}
