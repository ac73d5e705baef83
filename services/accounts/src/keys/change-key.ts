import type { ReceivedOf, accountsRotateKey, accountsSetKeyState } from '@gateway/contracts/messages';
import { isRefusal, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerWithInForce, type PendingChange, answerInForce, type ChangeDeps } from '../base/in-force.js';
import {
  noSuchKey,
  keyState,
  rotated,
  refuseMaskedForm,
  secretTaken,
  withState,
  toKeyRecord,
  toKeyView,
} from './rules.js';
import { type ApiKey, commandTaken } from '../base/rules.js';
import type { KeyStore, KeyTx } from './store.js';

export type ChangeKeyDeps = ChangeDeps<Pick<KeyStore, 'change'>>;
export type RotateKey = ReceivedOf<typeof accountsRotateKey>;
interface Answer {
  key: KeyView;
  repeated: boolean;
}

/**
 * Replaces the secret of an active key (docs/behaviour.md#keys). Responds after admission has the
 * new digest, so that no later call is admitted with the old secret. After a timeout it responds
 * with `inForce: false`.
 */
export async function rotateKey(
  { store, inForce, nowMs }: ChangeKeyDeps,
  request: RotateKey,
): Promise<(Answer & { inForce: boolean }) | ManagementRefusal> {
  const refusal = refuseMaskedForm(request.maskedSecret);
  return refusal ?? answerWithInForce(inForce, await store.change((tx) => rotate(tx, request, nowMs)));
}

async function rotate(
  tx: KeyTx,
  { key: id, digest, maskedSecret, author, command }: RotateKey,
  nowMs: () => number,
): Promise<PendingChange<Answer> | ManagementRefusal> {
  const key = await lockOwnKey(tx, id);
  if (isRefusal(key)) return key;
  const now = nowMs();
  const before = toKeyView(key, now);
  const made = command === undefined ? null : await tx.rotationOf(command);
  if (made?.key === id) {
    const object = { id, version: made.version };
    return { account: key.account, object, answer: { key: before, repeated: true } };
  }
  if (made) return commandTaken();
  const next = rotated(key, { digest, maskedSecret }, now);
  if (!next) return refuse('key_not_active', `the key is ${keyState(key, now)}; only an active key rotates`);
  if (!(await tx.updateSecret(next))) return secretTaken();
  if (command !== undefined) await tx.insertRotation(command, next);
  const after = toKeyView(next, now);
  await tx.audit({ author, action: 'rotate_key', account: key.account, objectId: id, before, after });
  await tx.publishChange(key.account, next, { keys: [toKeyRecord(next)] });
  return { account: key.account, object: next, answer: { key: after, repeated: false } };
}

export type SetKeyState = ReceivedOf<typeof accountsSetKeyState>;

/**
 * Revokes, suspends or reinstates a key. Responds after admission has applied the change. A
 * repeated verb changes nothing and waits until the earlier change is applied.
 */
export async function setKeyState(
  { store, inForce, nowMs }: ChangeKeyDeps,
  request: SetKeyState,
): Promise<{ key: KeyView } | ManagementRefusal> {
  return answerInForce(inForce, await store.change((tx) => setState(tx, request, nowMs)));
}

async function setState(
  tx: KeyTx,
  { key: id, verb, author }: SetKeyState,
  nowMs: () => number,
): Promise<PendingChange<{ key: KeyView }> | ManagementRefusal> {
  const key = await lockOwnKey(tx, id);
  if (isRefusal(key)) return key;
  const now = nowMs();
  const next = withState(key, verb, now);
  if (!next) return refuse('key_not_active', `the key is ${keyState(key, now)}: ${verb} is not possible any more`);
  const after = toKeyView(next, now);
  if (next !== key) {
    const before = toKeyView(key, now);
    await tx.updateKeyState(next);
    await tx.audit({ author, action: `${verb}_key`, account: key.account, objectId: id, before, after });
    await tx.publishChange(key.account, next, { keys: [toKeyRecord(next)] });
  }
  return { account: key.account, object: next, answer: { key: after } };
}

/**
 * Returns the key that an operator named, with its account locked. Playground keys are internal and
 * are not found.
 */
export async function lockOwnKey(tx: Pick<KeyTx, 'lockKey'>, id: string): Promise<ApiKey | ManagementRefusal> {
  const key = await tx.lockKey(id);
  return key?.kind === 'api' ? key : noSuchKey();
}
