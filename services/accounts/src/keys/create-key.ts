import type { KeyCreate, KeyView, ManagementRefusal } from '@gateway/contracts/operator';
import { decideNewKey } from '../domain/new-key.js';
import { isRefusal, refuse } from '../domain/refusal.js';
import { toKeyView } from '../domain/views.js';
import type { AccountsStore, FundingSource, MakeId } from '../ports.js';

export interface CreateKeyPorts {
  readonly store: AccountsStore;
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
}

/** A masked form shows four characters at each end; so many in a row can only come from a secret. */
const SECRET_PART = /[0-9a-f]{16}/i;

/**
 * Makes an API key under the specification's key rules. Admission hears of it when the key is first used. Billing is asked
 * before the transaction: none is open while this service waits for another one.
 */
export async function createKey(
  { store, funding, makeId, nowMs }: CreateKeyPorts,
  { account: id, spec, digest, maskedSecret, actor }: CreateKey,
): Promise<{ key: KeyView } | ManagementRefusal> {
  if (SECRET_PART.test(maskedSecret)) return refuse('invalid_request', 'the masked form shows too much of the secret');
  const funds = await funding.fundingOf(id);
  return store.change(async (tx) => {
    const account = await tx.lockAccount(id);
    const now = nowMs();
    const facts = {
      account,
      membership: account && (await tx.membership(id, spec.memberId ?? null)),
      activeKeys: await tx.countActiveKeys(id, now),
      funding: funds,
    };
    const terms = decideNewKey(spec, facts, now);
    if (isRefusal(terms)) return terms;
    const key = await tx.insertKey({ ...terms, id: makeId('key'), account: id, kind: 'api', digest, maskedSecret });
    if (!key) return refuse('state_conflict', 'a key with this secret exists');
    const view = toKeyView(key, now);
    await tx.audit({ actor, action: 'create_key', account: id, objectId: key.id, before: null, after: view });
    return { key: view };
  });
}
