import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { type AnswerBodyOf, billingAddWalletEntry, type ReceivedOf } from '@gateway/contracts/messages';
import { notInForce, refuse } from '@gateway/contracts/operator';
import { formatUsd, monthOf, parseUsd } from '@gateway/metering';
import { toTransactionView } from '../ledger/handlers.js';
import type { Months } from '../ledger/months.js';
import type { ChangeDelivery } from '../ledger/store.js';
import type { TransactionStore } from '../ledger/transactions-store.js';
import { decideWalletEntry, type WalletDecision } from './rules.js';
import type { WalletEntryRow, WalletStore } from './store.js';

export interface AddWalletEntryDeps {
  readonly inForce: ChangeDelivery;
  readonly store: WalletStore;
  readonly transactions: Pick<TransactionStore, 'transaction'>;
  readonly months: Months;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

type Request = ReceivedOf<typeof billingAddWalletEntry>;
type Answer = AnswerBodyOf<typeof billingAddWalletEntry>;

/**
 * Adds money to a wallet or takes it out, once per reference, and responds after admission has
 * applied the change. After five seconds the response is `not_in_force`; the entry is kept, and the
 * outbox repeats the message until admission has applied it.
 */
export async function addWalletEntry(deps: AddWalletEntryDeps, request: Request): Promise<Answer> {
  const now = deps.now();
  const { kind, reason, reference, relatesTo } = request.spec;
  const entry = {
    account: request.account,
    amountNanoUsd: parseUsd(request.spec.amountUsd),
    kind,
    reason,
    reference,
    relatesTo: relatesTo ?? null,
    actor: request.author.actor,
  };
  await deps.months.has(monthOf(now));
  const { decision, written } = await deps.store.addEntry({
    entry,
    origin: request.author.origin,
    transactionId: makeUuidV7(now),
    decide: (input) => decideWalletEntry(entry, input),
  });
  if (decision.kind === 'refused' || written === null) return refusalOf(decision);
  if (!(await deps.inForce.awaitDelivered(written.account, written.transactionId))) return notInForce();
  return answerOf(deps, written, decision.kind === 'repeated');
}

async function answerOf(deps: AddWalletEntryDeps, written: WalletEntryRow, repeated: boolean): Promise<Answer> {
  const transaction = await deps.transactions.transaction(written.transactionId);
  if (transaction === null) throw new Error(`ledger transaction ${written.transactionId} of a wallet entry is missing`);
  return { transaction: toTransactionView(transaction), balanceUsd: formatUsd(written.balanceNanoUsd), repeated };
}

function refusalOf(decision: WalletDecision): Answer {
  if (decision.kind !== 'refused') throw new Error(`a wallet entry was ${decision.kind} and not found`);
  switch (decision.why) {
    case 'reference_taken':
      return refuse('idempotency_conflict', 'the reference was already used for a different entry', 'reference');
    case 'related_unknown':
      return refuse('invalid_request', 'relatesTo is not a ledger transaction or call of this account', 'relatesTo');
    case 'related_kind':
      return refuse(
        'invalid_request',
        'a negative refund must relate to a credit and a positive one to a call; use an adjustment for anything else',
        'relatesTo',
      );
    case 'more_than_left':
      return refuse(
        'state_conflict',
        'the amount exceeds the remaining amount of the related payment or call',
        'amountUsd',
      );
    case 'closed':
      return refuse('state_conflict', 'the account is closed');
    case 'bounds':
      return refuse('invalid_request', 'the balance would exceed 9,000,000 USD', 'amountUsd');
  }
}

/** Serves the requests that add money to a wallet or take it out. */
export function serveWallets(bus: Pick<Bus, 'serve'>, deps: AddWalletEntryDeps): void {
  bus.serve(billingAddWalletEntry, (body) => addWalletEntry(deps, body));
}
