import type { accountsKeyCreation, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal, refuse } from '@gateway/contracts/operator';
import { formatUsd } from '@gateway/metering';
import { decideNewKey } from '../domain/new-key.js';
import type { AccountsStore, FundingSource } from '../ports.js';

export interface KeyCreationPorts {
  readonly store: Pick<AccountsStore, 'account' | 'change'>;
  readonly funding: FundingSource;
  readonly nowMs: () => number;
}

/** What the key rules would say to a member who made a key now, for pages that explain it beforehand. */
export async function keyCreation(
  { store, funding, nowMs }: KeyCreationPorts,
  { account: id, member }: ReceivedOf<typeof accountsKeyCreation>,
): Promise<AnswerBodyOf<typeof accountsKeyCreation>> {
  const [owned, funds] = await Promise.all([store.account(id), funding.fundingOf(id)]);
  if (owned === null) return refuse('not_found', 'there is no such account');
  const now = nowMs();
  const facts = await store.change(async (tx) => ({
    account: owned.account,
    membership: await tx.membership(id, member),
    activeKeys: await tx.countActiveKeys(id, now),
    funding: funds,
  }));
  const terms = decideNewKey({ name: 'asked' }, facts, now);
  const cap = funds.defaultKeyCapNanoUsd;
  return {
    refusal: isRefusal(terms) ? terms : null,
    activeKeys: facts.activeKeys,
    activeKeysMax: funds.activeKeysMax,
    defaultCapUsd: cap === null || cap === 0n ? null : formatUsd(cap),
  };
}
