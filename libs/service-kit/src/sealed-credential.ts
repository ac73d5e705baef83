import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Rotatable, Secret } from './secret.js';

/**
 * A sealed text that cannot be opened: altered, moved to another context, or sealed under a key
 * that is not at hand.
 */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const VERSION = 'v1';
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
/**
 * The length for which GCM is defined without hashing; random, so one key must seal fewer than 2^32
 * texts.
 */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;

/**
 * Seals `plaintext` under the current key as `v1.<key id>.<iv>.<ciphertext and tag>` (base64url).
 * `context` names what the text belongs to, e.g. the id of an upstream source: it is authenticated,
 * so a sealed text moved to another place does not open.
 */
export function seal(plaintext: string, context: string, key: Pick<Rotatable<Buffer>, 'current'>): string {
  const id = keyIdOf(key.current);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyBytes(key.current), iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(id, context));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return [VERSION, id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
}

/**
 * The plaintext. Throws SealError, whose message holds nothing of the text, when anything was
 * changed.
 */
export function open(sealed: string, context: string, keys: Rotatable<Buffer>): string {
  const { id, iv, body } = parse(sealed);
  const key = [keys.current, keys.previous].find((candidate) => candidate !== null && keyIdOf(candidate) === id);
  if (!key) throw new SealError('sealed under a key that is neither the current nor the previous one');
  const decipher = createDecipheriv(ALGORITHM, keyBytes(key), iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(authenticated(id, context));
  decipher.setAuthTag(body.subarray(body.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(body.subarray(0, body.length - TAG_BYTES)), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    throw new SealError('altered, or sealed for another place');
  }
}

/**
 * A short name of a key that tells nothing about it; stands in each sealed text so that a rotation
 * finds its key.
 */
function keyIdOf(key: Secret<Buffer>): string {
  return createHash('sha256')
    .update('gateway credential key id')
    .update(keyBytes(key))
    .digest()
    .subarray(0, KEY_ID_BYTES)
    .toString('hex');
}

function keyBytes(key: Secret<Buffer>): Buffer {
  const bytes = key.reveal();
  if (bytes.length !== KEY_BYTES) throw new Error(`a key for sealing has ${KEY_BYTES} bytes, not ${bytes.length}`);
  return bytes;
}

/** As JSON, so that no other pair of id and context gives the same bytes. */
function authenticated(id: string, context: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, id, context]), 'utf8');
}

function parse(sealed: string): { id: string; iv: Buffer; body: Buffer } {
  const match = /^v1\.([0-9a-f]{12})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/.exec(sealed);
  const iv = decodeExactly(match?.[2]);
  const body = decodeExactly(match?.[3]);
  if (!match || !iv || !body || iv.length !== IV_BYTES || body.length < TAG_BYTES)
    throw new SealError('not a sealed text of a known version');
  return { id: match[1] as string, iv, body };
}

/**
 * Null when the text is not the one way to write its bytes: lenient decoding would accept altered
 * last characters.
 */
function decodeExactly(text: string | undefined): Buffer | null {
  if (text === undefined) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}
