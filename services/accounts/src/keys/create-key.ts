import { isRefusal, type KeyCreate, type KeyView, type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import type { accountsKeyCreation, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { decideNewKey } from './new-key-rules.js';
import type { ApiKey } from '../objects.js';
import { commandTaken } from '../rules.js';
import { toKeyView, toToldCap } from '../view-rules.js';
import type { AccountsStore, FundingSource, MakeId } from '../ports.js';
import { refuseMaskedForm, secretTaken } from './rules.js';

export interface CreateKeyPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly funding: FundingSource;
  readonly makeId: MakeId;
  readonly nowMs: () => number;
}
export interface CreateKey {
  readonly account: string;
  readonly spec: KeyCreate;
  readonly digest: string;
  readonly maskedSecret: string;
  readonly actor: string;
  readonly command?: string | undefined;
}
type Answer = { key: KeyView; repeated: boolean } | ManagementRefusal;

/**
 * Makes an API key under the specification's key rules. Admission hears of it when the key is first used. Billing is asked
 * before the transaction: none is open while this service waits for another one. A command that made its key is
 * answered whatever holds by now.
 */
export async function createKey(
  { store, funding, makeId, nowMs }: CreateKeyPorts,
  request: CreateKey,
): Promise<Answer> {
  const { account: id, spec, digest, maskedSecret, actor } = request;
  const command = request.command ?? null;
  const refusal = refuseMaskedForm(maskedSecret);
  if (refusal) return refusal;
  const repeated = command && (await store.change((tx) => tx.keyOfCommand(command)));
  if (repeated) return repeatedAnswer(repeated, id, nowMs());
  const funds = await funding.fundingOf(id);
  return store.change(async (tx) => {
    const account = await tx.lockAccount(id);
    const now = nowMs();
    const made = command && (await tx.keyOfCommand(command));
    if (made) return repeatedAnswer(made, id, now);
    const facts = {
      account,
      membership: account && (await tx.membership(id, spec.memberId ?? null)),
      activeKeys: await tx.countActiveKeys(id, now),
      funding: funds,
    };
    const terms = decideNewKey(spec, facts, now);
    if (isRefusal(terms)) return terms;
    const secret = { digest, maskedSecret };
    const key = await tx.insertKey({ ...terms, ...secret, id: makeId('key'), account: id, kind: 'api', command });
    if (!key) return secretTaken();
    const view = toKeyView(key, now);
    await tx.audit({ actor, action: 'create_key', account: id, objectId: key.id, before: null, after: view });
    if (key.capNanoUsd !== null) await tx.tellBilling(id, [toToldCap('key', key)]);
    return { key: view, repeated: false };
  });
}

function repeatedAnswer(key: ApiKey, account: string, now: number): Answer {
  return key.account === account ? { key: toKeyView(key, now), repeated: true } : commandTaken();
}

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
