import type { Bus } from '@gateway/bus';
import {
  type AnswerBodyOf,
  billingStatement,
  billingStatementLines,
  billingTrialBalance,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { isRefusal, refuse, STATEMENT_LINES_MAX } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { buildPage, readMonth, readNameCursor } from '../ledger/page.js';
import type { Spend, SpendList } from './spends-store.js';
import type { FinanceStore } from './store.js';

/**
 * Returns the wallet movements and calls of an account in a month, by the times in their IDs. The
 * opening balance plus the movements equals the closing balance.
 */
export async function showStatement(
  store: Pick<FinanceStore, 'statement'>,
  { account, month }: ReceivedOf<typeof billingStatement>,
): Promise<AnswerBodyOf<typeof billingStatement>> {
  const bounds = readMonth(month);
  if (isRefusal(bounds)) return bounds;
  const statement = await store.statement(account, bounds.from, bounds.to, STATEMENT_LINES_MAX);
  if (statement === null) return refuse('invalid_request', 'the ledger does not contain this month', 'month');
  return {
    statement: {
      accountId: account,
      month,
      openingBalanceUsd: formatUsd(statement.openingNanoUsd),
      closingBalanceUsd: formatUsd(statement.closingNanoUsd),
      movements: statement.movements.map(({ kind, amountNanoUsd, transactions }) => ({
        kind,
        amountUsd: formatUsd(amountNanoUsd),
        transactions,
      })),
      usage: toSpendView(statement.usage),
      byKey: statement.byKey.lines.map(({ id, ...spend }) => ({ keyId: id, ...toSpendView(spend) })),
      byMember: statement.byMember.lines.map(({ id, ...spend }) => ({ memberId: id, ...toSpendView(spend) })),
      byModel: statement.byModel.lines.map(({ id, ...spend }) => ({ modelId: id, ...toSpendView(spend) })),
      omitted: {
        keys: toOmittedView(statement.byKey),
        members: toOmittedView(statement.byMember),
        models: toOmittedView(statement.byModel),
      },
    },
  };
}

/**
 * Returns the use of each key, member or model in a month, page by page; optionally only the use of
 * one key or member.
 */
export async function showStatementLines(
  store: Pick<FinanceStore, 'statementLines'>,
  { account, month, by, key, member, cursor, limit }: ReceivedOf<typeof billingStatementLines>,
): Promise<AnswerBodyOf<typeof billingStatementLines>> {
  const bounds = readMonth(month);
  if (isRefusal(bounds)) return bounds;
  const place = readNameCursor(cursor);
  if (isRefusal(place)) return place;
  const { from, to } = bounds;
  const found = await store.statementLines({
    account,
    from,
    to,
    by,
    key,
    member,
    after: place.after,
    limit: limit + 1,
  });
  const { items, nextCursor } = buildPage(found, limit, {
    nameOf: ({ id }) => id,
    viewOf: ({ id, ...spend }) => ({ id, ...toSpendView(spend) }),
  });
  return { lines: items, nextCursor };
}

function toOmittedView({ omitted }: SpendList) {
  return { entries: omitted.entries, ...toSpendView(omitted) };
}

function toSpendView({ calls, chargedNanoUsd, planNanoUsd, walletNanoUsd }: Spend) {
  return {
    calls,
    chargedUsd: formatUsd(chargedNanoUsd),
    planUsd: formatUsd(planNanoUsd),
    walletUsd: formatUsd(walletNanoUsd),
  };
}

/** Returns the sums of the ledger accounts by class. The total must be zero. */
export async function showTrialBalance(
  store: Pick<FinanceStore, 'balances'>,
  { asOf }: ReceivedOf<typeof billingTrialBalance>,
  now: number,
): Promise<AnswerBodyOf<typeof billingTrialBalance>> {
  const balances = await store.balances(asOf);
  const total = balances.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  return {
    trialBalance: {
      asOf: new Date(asOf ?? now).toISOString(),
      accounts: balances.map(({ name, amountNanoUsd }) => ({
        ledgerAccount: name,
        amountUsd: formatUsd(amountNanoUsd),
      })),
      totalUsd: formatUsd(total),
    },
  };
}

export interface FinanceDeps {
  readonly store: FinanceStore;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Serves the requests for statements and the trial balance. */
export function serveFinance(bus: Pick<Bus, 'serve'>, { store, now }: FinanceDeps): void {
  bus.serve(billingTrialBalance, (body) => showTrialBalance(store, body, now()));
  bus.serve(billingStatement, (body) => showStatement(store, body));
  bus.serve(billingStatementLines, (body) => showStatementLines(store, body));
}
