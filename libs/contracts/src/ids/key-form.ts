import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The prefix that new secrets get when a deployment names none; each prefix ends in `live_`. */
export const DEFAULT_KEY_PREFIX = 'mgw_live_';

/** Hexadecimal characters of a secret that are random, before its checksum. */
export const SECRET_BODY_CHARS = 40;
const SECRET_HEX = /^[0-9a-f]{48}$/;

/**
 * Whether a text has the form of a platform key: an accepted prefix and 48 lower-case hexadecimal
 * characters (specification, Authentication 3), of which the last 8 are the checksum of the 40
 * before them. A text without it is answered without asking anybody, so that a guess costs no
 * look-up.
 */
export function hasKeyForm(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix) && isChecked(text.slice(prefix.length)));
}

/** A new secret from the system's random source: 160 bits behind the prefix, and their checksum. */
export function makeSecret(prefix: string): string {
  return secretFrom(prefix, randomBytes(SECRET_BODY_CHARS / 2).toString('hex'));
}

/**
 * The secret with these {@link SECRET_BODY_CHARS} lower-case hexadecimal characters: they and their
 * CRC-32 follow the prefix.
 */
export function secretFrom(prefix: string, body: string): string {
  return prefix + body + checksumOf(body);
}

function isChecked(hex: string): boolean {
  return SECRET_HEX.test(hex) && checksumOf(hex.slice(0, SECRET_BODY_CHARS)) === hex.slice(SECRET_BODY_CHARS);
}

/** CRC-32 of the ASCII characters: it finds guesses and typing errors, and proves nothing. */
function checksumOf(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}

/**
 * What is stored of a secret: HMAC-SHA-256 under the server-side pepper, 64 hexadecimal characters.
 */
export function digestOfSecret(secret: string, pepper: string | Uint8Array): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/** The form shown in lists: prefix, first four and last four characters. */
export function maskSecret(secret: string): string {
  const start = secret.length - 48;
  return `${secret.slice(0, start + 4)}…${secret.slice(-4)}`;
}
