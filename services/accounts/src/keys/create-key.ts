import { isRefusal, type KeyView, type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import type { accountsKeyCreation, AnswerBodyOf, ReceivedOf, accountsCreateKey } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { decideNewKey } from './new-key-rules.js';
import { type ApiKey, commandTaken, externalIdTaken, type MakeId, toCapRecord } from '../base/rules.js';
import { toKeyView, refuseMaskedForm, secretTaken } from './rules.js';
import type { KeyStore } from './store.js';
import type { BillingClient } from '../base/billing.js';

export interface CreateKeyDeps {
  readonly store: Pick<KeyStore, 'change'>;
  readonly billing: Pick<BillingClient, 'fundingOf'>;
  readonly makeId: MakeId;
  readonly nowMs: () => number;
}
export type CreateKey = ReceivedOf<typeof accountsCreateKey>;
type Answer = { key: KeyView; repeated: boolean } | ManagementRefusal;

/**
 * Creates an API key under the specification's key rules. Admission loads the key at its first use.
 * Billing is queried before the transaction, because no transaction may be open during a request to
 * another service. A command that has already created its key returns it, regardless of the rules.
 */
export async function createKey({ store, billing, makeId, nowMs }: CreateKeyDeps, request: CreateKey): Promise<Answer> {
  const { account: id, spec, digest, maskedSecret, author } = request;
  const command = request.command ?? null;
  const refusal = refuseMaskedForm(maskedSecret);
  if (refusal) return refusal;
  const repeated = command && (await store.change((tx) => tx.keyOfCommand(command)));
  if (repeated) return repeatedAnswer(repeated, id, nowMs());
  const funds = await billing.fundingOf(id);
  return store.change(async (tx) => {
    const account = await tx.lockAccount(id);
    const now = nowMs();
    const made = command && (await tx.keyOfCommand(command));
    if (made) return repeatedAnswer(made, id, now);
    const input = {
      account,
      membership: account && (await tx.membership(id, spec.memberId ?? null)),
      activeKeys: await tx.countActiveKeys(id, now),
      funding: funds,
    };
    const terms = decideNewKey(spec, input, now);
    if (isRefusal(terms)) return terms;
    const externalId = spec.externalId ?? null;
    if (externalId !== null && (await tx.hasKey(id, externalId))) return externalIdTaken('key');
    const parts = { digest, maskedSecret, externalId, command };
    const key = await tx.insertKey({ ...terms, ...parts, id: makeId('key'), account: id, kind: 'api' });
    if (!key) return secretTaken();
    const view = toKeyView(key, now);
    await tx.audit({ author, action: 'create_key', account: id, objectId: key.id, before: null, after: view });
    if (key.capNanoUsd !== null) await tx.publishCaps(id, [toCapRecord('key', key)]);
    return { key: view, repeated: false };
  });
}

function repeatedAnswer(key: ApiKey, account: string, now: number): Answer {
  return key.account === account ? { key: toKeyView(key, now), repeated: true } : commandTaken();
}

export interface KeyCreationDeps {
  readonly store: Pick<KeyStore, 'account' | 'change'>;
  readonly billing: Pick<BillingClient, 'fundingOf'>;
  readonly nowMs: () => number;
}

/** Returns the result of the key rules for a member now, for pages that explain it. */
export async function keyCreation(
  { store, billing, nowMs }: KeyCreationDeps,
  { account: id, member }: ReceivedOf<typeof accountsKeyCreation>,
): Promise<AnswerBodyOf<typeof accountsKeyCreation>> {
  const [owned, funds] = await Promise.all([store.account(id), billing.fundingOf(id)]);
  if (owned === null) return refuse('not_found', 'there is no such account');
  const now = nowMs();
  const input = await store.change(async (tx) => ({
    account: owned.account,
    membership: await tx.membership(id, member),
    activeKeys: await tx.countActiveKeys(id, now),
    funding: funds,
  }));
  const terms = decideNewKey({ name: 'any' }, input, now);
  const cap = funds.defaultKeyCapNanoUsd;
  return {
    refusal: isRefusal(terms) ? terms : null,
    activeKeys: input.activeKeys,
    activeKeysMax: funds.activeKeysMax,
    defaultCapUsd: cap === null || cap === 0n ? null : formatUsd(cap),
  };
}
