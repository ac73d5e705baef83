import { isRefusal, refuse } from '@gateway/contracts/operator';
import type { KeyView, ManagementRefusal } from '@gateway/contracts/operator';
import { answerWithInForce, type Changed } from '../change/await-in-force.js';
import { keyState, rotated } from '../domain/key-state.js';
import { commandTaken } from '../domain/refusal.js';
import { toKeyRecord, toKeyView } from '../domain/views.js';
import type { AccountsStore, InForce } from '../ports.js';
import type { AccountsTx } from '../tx-ports.js';
import { lockOwnKey } from './lock-own-key.js';
import { refuseMaskedForm, secretTaken } from './new-secret.js';

export interface ChangeKeyPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly inForce: InForce;
  readonly nowMs: () => number;
}
export interface RotateKey {
  readonly key: string;
  readonly digest: string;
  readonly maskedSecret: string;
  readonly actor: string;
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
  { store, inForce, nowMs }: ChangeKeyPorts,
  request: RotateKey,
): Promise<(Answer & { inForce: boolean }) | ManagementRefusal> {
  const refusal = refuseMaskedForm(request.maskedSecret);
  return refusal ?? answerWithInForce(inForce, await store.change((tx) => rotate(tx, request, nowMs)));
}

async function rotate(
  tx: AccountsTx,
  { key: id, digest, maskedSecret, actor, command }: RotateKey,
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
  await tx.audit({ actor, action: 'rotate_key', account: key.account, objectId: id, before, after });
  await tx.tell(key.account, next, { keys: [toKeyRecord(next)] });
  return { account: key.account, object: next, answer: { key: after, repeated: false } };
}
