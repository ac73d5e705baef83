import { keyRecord, type KeyRecord } from '@gateway/contracts/messages';
import { keyView, type KeyView, pickFields, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { type ApiKey, capText, nextVersion, type StoredKeyState, timeText } from '../base/rules.js';

/** The states of the specification's table, including `expired`. */
export type KeyState = StoredKeyState | 'expired';

/** The verbs on a key. Expiry needs no verb. */
export const KEY_VERBS = ['rotate', 'revoke', 'suspend', 'reinstate'] as const;
export type KeyVerb = (typeof KEY_VERBS)[number];

/** Returns a key's state at a time. Revoked and expired are final. A suspended key expires too. */
export function keyState(key: Pick<ApiKey, 'state' | 'expiresAt'>, nowMs: number): KeyState {
  if (key.state === 'revoked') return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= nowMs ? 'expired' : key.state;
}

/**
 * The state after a verb. Null: the verb is refused (`key_not_active`). A verb whose state is
 * already reached changes nothing, so it can be repeated.
 */
const TRANSITIONS: Readonly<Record<KeyVerb, Readonly<Record<KeyState, StoredKeyState | null>>>> = {
  rotate: { active: 'active', suspended: null, revoked: null, expired: null },
  revoke: { active: 'revoked', suspended: 'revoked', revoked: 'revoked', expired: null },
  suspend: { active: 'suspended', suspended: 'suspended', revoked: null, expired: null },
  reinstate: { active: 'active', suspended: 'active', revoked: null, expired: null },
};

/** Returns the stored state after the verb. Null: the verb is refused in this state. */
export function stateAfter(verb: KeyVerb, state: KeyState): StoredKeyState | null {
  return TRANSITIONS[verb][state];
}

/** The stored fields of a new secret. */
export interface NewSecret {
  readonly digest: string;
  readonly maskedSecret: string;
}

/** Replaces the secret and keeps all other fields. Null: the key is not active. */
export function rotated(key: ApiKey, secret: NewSecret, nowMs: number): ApiKey | null {
  if (stateAfter('rotate', keyState(key, nowMs)) === null) return null;
  return { ...key, ...secret, version: nextVersion(key, nowMs) };
}

/**
 * Returns the key after the verb, or the same object if nothing changes. Null: the verb is refused.
 */
export function withState(key: ApiKey, verb: Exclude<KeyVerb, 'rotate'>, nowMs: number): ApiKey | null {
  const state = stateAfter(verb, keyState(key, nowMs));
  if (state === null) return null;
  return state === key.state ? key : { ...key, state, version: nextVersion(key, nowMs) };
}

/** A masked form has four characters at each end. A longer run is part of a secret. */
const SECRET_PART = /[0-9a-f]{16}/i;

/** Refuses a masked form that must not be stored. Null: it may be stored. */
export function refuseMaskedForm(maskedSecret: string): ManagementRefusal | null {
  if (SECRET_PART.test(maskedSecret)) return refuse('invalid_request', 'the masked form shows too much of the secret');
  return maskedSecret === '' ? refuse('invalid_request', 'the masked form of the secret is missing') : null;
}

/** Refuses the secret of another key. Secrets are random, so the client sent it twice. */
export function secretTaken(): ManagementRefusal {
  return refuse('state_conflict', 'a key with this secret exists');
}

/** Refuses a key that does not exist or is internal. */
export function noSuchKey(): ManagementRefusal {
  return refuse('not_found', 'there is no such key');
}

/** Converts a key to the operator API's view, without the digest. */
export function toKeyView(key: ApiKey, nowMs: number): KeyView {
  return pickFields(keyView.shape, {
    ...key,
    accountId: key.account,
    memberId: key.member,
    state: keyState(key, nowMs),
    monthlySpendCapUsd: capText(key.capNanoUsd),
    expiresAt: key.expiresAt === null ? null : timeText(key.expiresAt),
    createdAt: timeText(key.createdAt),
    lastUsedAt: key.lastUsedAt === null ? null : timeText(key.lastUsedAt),
  });
}

/** Converts a key to admission's record. */
export function toKeyRecord(key: ApiKey): KeyRecord {
  const capNanoUsd = key.capNanoUsd === null ? null : Number(key.capNanoUsd);
  return pickFields(keyRecord.shape, { ...key, key: key.id, capNanoUsd });
}
