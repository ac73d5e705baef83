import {
  accountsGetAccount,
  admissionHeld,
  billingGetPlan,
  billingGetSubscription,
  billingWallet,
} from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type SubscriptionView } from '@gateway/contracts/operator';
import type { OverviewView } from '@gateway/contracts/pages';
import { formatUsd, windowView } from '@gateway/metering';
import type { Services } from '../../operator-api/route.js';
import type { RouteResult } from '../../http/route.js';
import { defineRoute, type AccountRequest } from '../route.js';
import { decidingState, type DecidingState } from '../models/deciding-state.js';

export const OVERVIEW_ROUTES = [
  defineRoute({
    id: 'getOverview',
    access: 'manager',
    method: 'GET',
    path: '/accounts/{account}/overview',
    handle: overview,
  }),
];

async function overview(request: AccountRequest): Promise<RouteResult> {
  const { services } = request;
  const of = { account: request.account.id };
  const [account, subscription, wallet, held, state] = await Promise.all([
    services.request(accountsGetAccount, of),
    services.request(billingGetSubscription, of),
    services.request(billingWallet, of),
    services.request(admissionHeld, of),
    decidingState(request),
  ]);
  if (isRefusal(account)) return account;
  if (isRefusal(held)) return held;
  const body: OverviewView = {
    account: account.account,
    plan: await planOf(services, subscription, state),
    limits: state && { requestsPerMinute: state.terms.requestsPerMinute, concurrency: state.terms.concurrency },
    windows: windowsOf(state),
    allotments: (state?.allotments ?? []).map(({ model, unit, limit, used }) => ({
      modelId: model,
      unit,
      limit: amountOf(unit, limit),
      used: amountOf(unit, used),
    })),
    wallet: { balanceUsd: wallet.balanceUsd, heldUsd: formatUsd(BigInt(held.walletNanoUsd)) },
    debtUsd: wallet.balanceUsd?.startsWith('-') ? wallet.balanceUsd.slice(1) : '0',
  };
  return { status: 200, body };
}

/** Returns the running period and its plan; null: none is running, or it may not be read. */
async function planOf(
  services: Services,
  found: { readonly subscription: SubscriptionView } | ManagementRefusal,
  state: DecidingState | null,
): Promise<OverviewView['plan']> {
  if (isRefusal(found) || !found.subscription.active) return null;
  const { planId: id, periodStart, periodEnd, renews } = found.subscription;
  const period = { periodStart, periodEnd, renews };
  if (state !== null && state.terms.plan?.id === id) {
    return { id, name: state.terms.plan.name, tier: state.terms.plan.tier, ...period };
  }
  const answer = await services.request(billingGetPlan, { id });
  return isRefusal(answer) ? null : { id, name: answer.plan.name, tier: answer.plan.tier, ...period };
}

function windowsOf(state: DecidingState | null): OverviewView['windows'] {
  return (state?.windows ?? []).map(({ type, label, unit, limit, used, resetsAt, begun }) => {
    const view = windowView(BigInt(limit), BigInt(used));
    return {
      type,
      label,
      unit,
      limit: amountOf(unit, limit),
      used: amountOf(unit, Number(view.used)),
      percent: view.percentUsed,
      resetsAt: begun === false ? null : new Date(resetsAt).toISOString(),
    };
  });
}

function amountOf(unit: 'usd' | 'requests', amount: number): string | number {
  return unit === 'usd' ? formatUsd(BigInt(amount)) : amount;
}
