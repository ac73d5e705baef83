import { createHash, createHmac } from 'node:crypto';
import { derivePrivateKey, HPKE_KEY_BYTES, hpkeOpen, hpkeSeal, derivePublicKey, type HpkeBinding } from './hpke.js';
import { Secret, type Rotatable } from './secret.js';

/**
 * A sealed text that cannot be opened: changed, moved to another context, or sealed to an unknown
 * key.
 */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const VERSION = 'v2';
const INFO = Buffer.from('gateway sealed text v2');
const KEY_ID_BYTES = 6;
const TAG_BYTES = 16;

/** The keys that open texts of one purpose. */
export interface OpeningKeys {
  readonly privateKey: Rotatable<Buffer>;
}

/**
 * Seals `plaintext` to a public key as `v2.<key id>.<encapsulated key>.<ciphertext and tag>`
 * (base64url). Only the private key opens it. `context` names the owner of the text, such as the ID
 * of an upstream source. It is authenticated, so a sealed text does not open in another place.
 * @param repeatUnder a secret that makes sealing deterministic: the same text in the same place
 * gives the same sealed text, so that a reader without the private key recognizes an unchanged
 * text. A holder of this secret can test guesses. Without it each sealing differs.
 */
export function sealTo(plaintext: string, context: string, publicKey: Secret<Buffer>, repeatUnder?: Secret): string {
  const id = sealingKeyIdOf(publicKey);
  const ephemeral = repeatUnder && derivePrivateKey(repeatedIkm(repeatUnder, [id, context, plaintext]));
  const { enc, body } = hpkeSeal(publicKey.reveal(), Buffer.from(plaintext), bindingOf(id, context), ephemeral);
  return [VERSION, id, enc.toString('base64url'), body.toString('base64url')].join('.');
}

/**
 * Returns the plaintext. Throws SealError if anything was changed; its message contains nothing of
 * the text.
 */
export function openSealed(sealed: string, context: string, { privateKey }: OpeningKeys): string {
  const { id, enc, body } = parse(sealed);
  const key = [privateKey.current, privateKey.previous].find((one) => one !== null && keyIdOfPrivate(one) === id);
  if (!key) throw new SealError('sealed to a key that is neither the current nor the previous one');
  try {
    return hpkeOpen(key.reveal(), { enc, body }, bindingOf(id, context)).toString('utf8');
  } catch {
    throw new SealError('altered, or sealed for another place');
  }
}

/**
 * Returns the text sealed to the current key, or null if it is already. Throws SealError like
 * `openSealed`.
 */
export function resealTo(sealed: string, context: string, keys: OpeningKeys): string | null {
  const plaintext = openSealed(sealed, context, keys);
  return isSealedToCurrent(sealed, keys) ? null : sealTo(plaintext, context, toPublicKey(keys.privateKey.current));
}

/** Reports whether a sealed text is sealed to the current key. */
export function isSealedToCurrent(sealed: string, { privateKey }: OpeningKeys): boolean {
  return sealed.startsWith(`${VERSION}.${keyIdOfPrivate(privateKey.current)}.`);
}

/**
 * Reports whether a key for this text is available. Does not open the text, so a changed text also
 * has its key.
 */
export function hasKeyFor(sealed: string, keys: OpeningKeys): boolean {
  const { current, previous } = keys.privateKey;
  return [current, previous].some((key) => key !== null && sealed.startsWith(`${VERSION}.${keyIdOfPrivate(key)}.`));
}

/**
 * Reports whether a text has the form of a sealed text. Only the holder of the key can check
 * whether it opens.
 */
export function hasSealedForm(text: string): boolean {
  return FORM.test(text);
}

/** Returns the public key of a private key. */
export function toPublicKey(privateKey: Secret<Buffer>): Secret<Buffer> {
  return new Secret(derivePublicKey(privateKey.reveal()));
}

/** Returns a short ID of a public key. Sealed texts contain it, so that the key is found again. */
function sealingKeyIdOf(publicKey: Secret<Buffer>): string {
  return createHash('sha256')
    .update('gateway sealing key id')
    .update(publicKey.reveal())
    .digest()
    .subarray(0, KEY_ID_BYTES)
    .toString('hex');
}

/** Cached, because computing the public half takes as long as opening a text. */
const KEY_IDS = new WeakMap<Secret<Buffer>, string>();

function keyIdOfPrivate(privateKey: Secret<Buffer>): string {
  const known = KEY_IDS.get(privateKey);
  if (known !== undefined) return known;
  const id = sealingKeyIdOf(toPublicKey(privateKey));
  KEY_IDS.set(privateKey, id);
  return id;
}

function repeatedIkm(secret: Secret, parts: readonly string[]): Buffer {
  const text = JSON.stringify(['gateway repeated sealing', ...parts]);
  return createHmac('sha256', secret.reveal()).update(text).digest();
}

/** Encoded as JSON, so that no other pair of ID and context has the same bytes. */
function bindingOf(id: string, context: string): HpkeBinding {
  return { info: INFO, aad: Buffer.from(JSON.stringify([VERSION, id, context]), 'utf8') };
}

const FORM = /^v2\.([0-9a-f]{12})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{22,})$/;

function parse(sealed: string): { id: string; enc: Buffer; body: Buffer } {
  const [, id, encText = '', bodyText = ''] = FORM.exec(sealed) ?? [];
  const enc = decodeExactly(encText);
  const body = decodeExactly(bodyText);
  if (id === undefined || enc?.length !== HPKE_KEY_BYTES || body === null || body.length < TAG_BYTES)
    throw new SealError('not a sealed text of a known version');
  return { id, enc, body };
}

/**
 * Returns null unless the text is the canonical encoding of its bytes. Lenient decoding would
 * accept changed last characters.
 */
function decodeExactly(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}
