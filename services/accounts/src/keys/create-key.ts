import { isRefusal, type KeyCreate, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { decideNewKey } from '../domain/new-key.js';
import type { ApiKey } from '../domain/objects.js';
import { commandTaken } from '../domain/refusal.js';
import { toKeyView, toToldCap } from '../domain/views.js';
import type { AccountsStore, FundingSource, MakeId } from '../ports.js';
import { refuseMaskedForm, secretTaken } from './new-secret.js';

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
