import { createHash, createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Prefix of new secrets unless the deployment sets another one. Every prefix ends in `live_`. */
export const DEFAULT_KEY_PREFIX = 'mgw_live_';

/** Number of random hexadecimal characters in a secret, before its checksum. */
export const SECRET_BODY_CHARS = 40;
const SECRET_HEX = /^[0-9a-f]{48}$/;

/**
 * Whether a text has the form of a platform key: an accepted prefix and 48 lower-case hexadecimal
 * characters (specification, Authentication 3). The last 8 characters are the checksum of the 40
 * before them. The edge rejects other texts itself, so a guessed key costs no look-up.
 */
export function hasKeyForm(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix) && isChecked(text.slice(prefix.length)));
}

/** Creates a secret from the system's random source: prefix, 160 random bits, checksum. */
export function makeSecret(prefix: string): string {
  return secretFrom(prefix, randomBytes(SECRET_BODY_CHARS / 2).toString('hex'));
}

/**
 * Builds the secret from the prefix, these {@link SECRET_BODY_CHARS} lower-case hexadecimal
 * characters and their CRC-32.
 */
export function secretFrom(prefix: string, body: string): string {
  return prefix + body + checksumOf(body);
}

function isChecked(hex: string): boolean {
  return SECRET_HEX.test(hex) && checksumOf(hex.slice(0, SECRET_BODY_CHARS)) === hex.slice(SECRET_BODY_CHARS);
}

/** Returns the CRC-32 of the ASCII characters. It detects guesses and typing errors. */
function checksumOf(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}

/**
 * Returns the stored form of a secret: HMAC-SHA-256 under the server-side pepper, 64 hexadecimal
 * characters.
 */
export function digestOfSecret(secret: string, pepper: string | Uint8Array): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/** Returns the form that lists show: prefix, first four and last four characters. */
export function maskSecret(secret: string): string {
  const start = secret.length - 48;
  return `${secret.slice(0, start + 4)}…${secret.slice(-4)}`;
}

/**
 * Returns a short name for a content: the first 72 bits of its SHA-256 as 12 characters of
 * base64url. Equal contents have equal names.
 */
export function shortHash(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}

/** Creates the token of a link in an email: 256 bits of the system's random source in base64url. */
export function makeMailToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the stored form. It needs no pepper: 256 random bits cannot be searched. */
export function digestOfMailToken(token: string): string {
  return createHash('sha256').update(`mail-token:${token}`).digest('hex');
}
