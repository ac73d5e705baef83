import type { AnswerBodyOf, billingStatement, ReceivedOf } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { isRefusal, refusal } from '../domain/refusal.js';
import type { FinanceStore, Spend } from '../operator-ports.js';
import { readMonth } from './read-month.js';

/** What an account's wallet and calls did in a month, by the times inside their ids; opening and movements give closing. */
export async function showStatement(
  store: Pick<FinanceStore, 'statement'>,
  { account, month }: ReceivedOf<typeof billingStatement>,
): Promise<AnswerBodyOf<typeof billingStatement>> {
  const bounds = readMonth(month);
  if (isRefusal(bounds)) return bounds;
  const facts = await store.statement(account, bounds.from, bounds.to);
  if (facts === null) return refusal('invalid_request', 'the ledger does not reach so far', 'month');
  return {
    statement: {
      accountId: account,
      month,
      openingBalanceUsd: formatUsd(facts.openingNanoUsd),
      closingBalanceUsd: formatUsd(facts.closingNanoUsd),
      movements: facts.movements.map(({ kind, amountNanoUsd, transactions }) => ({
        kind,
        amountUsd: formatUsd(amountNanoUsd),
        transactions,
      })),
      usage: toSpendView(facts.usage),
      byKey: facts.byKey.map(({ id, ...spend }) => ({ keyId: id, ...toSpendView(spend) })),
      byMember: facts.byMember.map(({ id, ...spend }) => ({ memberId: id, ...toSpendView(spend) })),
      byModel: facts.byModel.map(({ id, ...spend }) => ({ modelId: id, ...toSpendView(spend) })),
    },
  };
}

function toSpendView({ calls, chargedNanoUsd, planNanoUsd, walletNanoUsd }: Spend) {
  return {
    calls,
    chargedUsd: formatUsd(chargedNanoUsd),
    planUsd: formatUsd(planNanoUsd),
    walletUsd: formatUsd(walletNanoUsd),
  };
}
