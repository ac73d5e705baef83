import { isRefusal, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerInForce, type Changed } from '../change/await-in-force.js';
import { keyState, withState, type KeyVerb } from '../domain/key-state.js';
import { toKeyRecord, toKeyView } from '../domain/views.js';
import type { AccountsTx } from '../tx-ports.js';
import { lockOwnKey } from './lock-own-key.js';
import type { ChangeKeyPorts } from './rotate-key.js';

export interface SetKeyState {
  readonly key: string;
  readonly verb: Exclude<KeyVerb, 'rotate'>;
  readonly actor: string;
}
interface Answer {
  key: KeyView;
}

/**
 * Revokes, suspends or reinstates a key. Answered when admission has it; a repeated verb changes nothing and waits for the
 * change that it finds.
 */
export async function setKeyState(
  { store, inForce, nowMs }: ChangeKeyPorts,
  request: SetKeyState,
): Promise<Answer | ManagementRefusal> {
  return answerInForce(inForce, await store.change((tx) => setState(tx, request, nowMs)));
}

async function setState(
  tx: AccountsTx,
  { key: id, verb, actor }: SetKeyState,
  nowMs: () => number,
): Promise<Changed<Answer> | ManagementRefusal> {
  const key = await lockOwnKey(tx, id);
  if (isRefusal(key)) return key;
  const now = nowMs();
  const next = withState(key, verb, now);
  if (!next) return refuse('key_not_active', `the key is ${keyState(key, now)}: ${verb} is not possible any more`);
  const after = toKeyView(next, now);
  if (next !== key) {
    const before = toKeyView(key, now);
    await tx.updateKeyState(next);
    await tx.audit({ actor, action: `${verb}_key`, account: key.account, objectId: id, before, after });
    await tx.tell(key.account, next, { keys: [toKeyRecord(next)] });
  }
  return { account: key.account, object: next, answer: { key: after } };
}
