import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';

/**
 * HPKE (RFC 9180), base mode, one message per key: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * AES-256-GCM. Keys are 32 raw bytes. Built on Node's own primitives, because libraries use
 * WebCrypto, which is asynchronous. A test compares it with a library.
 */
export const HPKE_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
const VERSION = Buffer.from('HPKE-v1');
const KEM_SUITE = Buffer.concat([Buffer.from('KEM'), Buffer.from([0x00, 0x20])]);
const SUITE = Buffer.concat([Buffer.from('HPKE'), Buffer.from([0x00, 0x20, 0x00, 0x01, 0x00, 0x02])]);
/** PKCS #8 and SPKI of an X25519 key: these bytes, followed by the raw key. */
const PRIVATE_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b656e032100', 'hex');
const NONE = Buffer.alloc(0);

/** Context of a message that both sides must know. It is authenticated but not sent. */
export interface HpkeBinding {
  readonly info: Buffer;
  readonly aad: Buffer;
}

export interface HpkeMessage {
  /** The public half of the ephemeral key. */
  readonly enc: Buffer;
  /** Ciphertext and tag. */
  readonly body: Buffer;
}

export function makePrivateKey(): Buffer {
  return rawOf(generateKeyPairSync('x25519').privateKey.export({ format: 'der', type: 'pkcs8' }));
}

/** Returns the public key of a private key. */
export function derivePublicKey(privateKey: Buffer): Buffer {
  const known = publicKeys.get(privateKey);
  if (known !== undefined) return known;
  const made = rawOf(createPublicKey(privateObject(privateKey)).export({ format: 'der', type: 'spki' }));
  publicKeys.set(privateKey, made);
  return made;
}
const publicKeys = new WeakMap<Buffer, Buffer>();

/** @param ephemeral private key of this message only */
export function hpkeSeal(
  publicKey: Buffer,
  plaintext: Buffer,
  { info, aad }: HpkeBinding,
  ephemeral: Buffer = makePrivateKey(),
): HpkeMessage {
  const enc = derivePublicKey(ephemeral);
  const { key, nonce } = schedule(sharedSecret(ephemeral, publicKey, enc, publicKey), info);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad);
  return { enc, body: Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]) };
}

/** @throws Error if the message was changed, or sealed to another key or with another binding */
export function hpkeOpen(privateKey: Buffer, { enc, body }: HpkeMessage, { info, aad }: HpkeBinding): Buffer {
  const { key, nonce } = schedule(sharedSecret(privateKey, enc, enc, derivePublicKey(privateKey)), info);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(aad);
  decipher.setAuthTag(body.subarray(body.length - TAG_BYTES));
  return Buffer.concat([decipher.update(body.subarray(0, body.length - TAG_BYTES)), decipher.final()]);
}

/** DeriveKeyPair of RFC 9180, 7.1.3: derives a private key from 32 or more secret bytes. */
export function derivePrivateKey(ikm: Buffer): Buffer {
  return expand(KEM_SUITE, extract(KEM_SUITE, NONE, 'dkp_prk', ikm), 'sk', NONE, HPKE_KEY_BYTES);
}

/** Encap and Decap. Node refuses a key that leads to zero. */
function sharedSecret(own: Buffer, other: Buffer, enc: Buffer, recipient: Buffer): Buffer {
  const dh = diffieHellman({ privateKey: privateObject(own), publicKey: publicObject(other) });
  const prk = extract(KEM_SUITE, NONE, 'eae_prk', dh);
  return expand(KEM_SUITE, prk, 'shared_secret', Buffer.concat([enc, recipient]), HPKE_KEY_BYTES);
}

function schedule(shared: Buffer, info: Buffer): { key: Buffer; nonce: Buffer } {
  const context = Buffer.concat([
    Buffer.from([0]),
    extract(SUITE, NONE, 'psk_id_hash', NONE),
    extract(SUITE, NONE, 'info_hash', info),
  ]);
  const secret = extract(SUITE, shared, 'secret', NONE);
  return {
    key: expand(SUITE, secret, 'key', context, HPKE_KEY_BYTES),
    nonce: expand(SUITE, secret, 'base_nonce', context, NONCE_BYTES),
  };
}

function extract(suite: Buffer, salt: Buffer, label: string, ikm: Buffer): Buffer {
  return hmac(salt, VERSION, suite, Buffer.from(label), ikm);
}

/** Computes one block of HKDF-Expand: `bytes` is at most 32 for all callers. */
function expand(suite: Buffer, prk: Buffer, label: string, info: Buffer, bytes: number): Buffer {
  const length = Buffer.from([0, bytes]);
  return hmac(prk, length, VERSION, suite, Buffer.from(label), info, Buffer.from([1])).subarray(0, bytes);
}

function hmac(key: Buffer, ...parts: readonly Buffer[]): Buffer {
  return createHmac('sha256', key).update(Buffer.concat(parts)).digest();
}

/** Parsing a key costs more than using it, so the parsed key is cached per buffer. */
const privateObjects = new WeakMap<Buffer, KeyObject>();

function privateObject(raw: Buffer): KeyObject {
  const known = privateObjects.get(raw);
  if (known !== undefined) return known;
  const made = createPrivateKey({ key: Buffer.concat([PRIVATE_HEAD, checked(raw)]), format: 'der', type: 'pkcs8' });
  privateObjects.set(raw, made);
  return made;
}

function publicObject(raw: Buffer) {
  return createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, checked(raw)]), format: 'der', type: 'spki' });
}

function rawOf(der: Buffer): Buffer {
  return der.subarray(der.length - HPKE_KEY_BYTES);
}

function checked(raw: Buffer): Buffer {
  if (raw.length !== HPKE_KEY_BYTES) throw new Error(`an X25519 key has ${HPKE_KEY_BYTES} bytes, not ${raw.length}`);
  return raw;
}
