import type { CommandAuthor } from '@gateway/contracts/messages';
import { isRefusal, refuse, type KeyView, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerWithInForce, type Changed, answerInForce, type InForce } from '../base/in-force.js';
import {
  noSuchKey,
  keyState,
  rotated,
  refuseMaskedForm,
  secretTaken,
  withState,
  type KeyVerb,
  toKeyRecord,
  toKeyView,
} from './rules.js';
import { type ApiKey, commandTaken } from '../base/rules.js';
import type { KeyStore, KeyTx } from './store.js';

export interface ChangeKeyDeps {
  readonly store: Pick<KeyStore, 'change'>;
  readonly inForce: InForce;
  readonly nowMs: () => number;
}
export interface RotateKey {
  readonly key: string;
  readonly digest: string;
  readonly maskedSecret: string;
  readonly author: CommandAuthor;
  readonly command?: string | undefined;
}
interface Answer {
  key: KeyView;
  repeated: boolean;
}

/**
 * Gives a key another secret; only an active one (docs/behaviour.md#keys). Answered when admission
 * has the new digest, so that no call that starts afterwards passes with the old secret; or, with
 * `inForce: false`, when it did not take it in time.
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
): Promise<Changed<Answer> | ManagementRefusal> {
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

export interface SetKeyState {
  readonly key: string;
  readonly verb: Exclude<KeyVerb, 'rotate'>;
  readonly author: CommandAuthor;
}

/**
 * Revokes, suspends or reinstates a key. Answered when admission has it; a repeated verb changes
 * nothing and waits for the change that it finds.
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
): Promise<Changed<{ key: KeyView }> | ManagementRefusal> {
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
 * The key that an operator names, with its account locked. The playground key is internal: nobody
 * names it.
 */
export async function lockOwnKey(tx: Pick<KeyTx, 'lockKey'>, id: string): Promise<ApiKey | ManagementRefusal> {
  const key = await tx.lockKey(id);
  return key?.kind === 'api' ? key : noSuchKey();
}
