import { createHmac, randomBytes } from 'node:crypto';

/** The prefix that new secrets get when a deployment names none; each prefix ends in `live_`. */
export const DEFAULT_KEY_PREFIX = 'mgw_live_';

const SECRET_HEX = /^[0-9a-f]{48}$/;

/**
 * Whether a text has the form of a platform key: an accepted prefix and 48 lower-case hexadecimal characters
 * (specification, Authentication 3). A text without it is answered without asking anybody.
 */
export function hasKeyForm(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix) && SECRET_HEX.test(text.slice(prefix.length)));
}

/** A new secret from the system's random source: 192 bits behind the prefix. */
export function makeSecret(prefix: string): string {
  return prefix + randomBytes(24).toString('hex');
}

/** What is stored of a secret: HMAC-SHA-256 under the server-side pepper, 64 hexadecimal characters. */
export function digestOfSecret(secret: string, pepper: string | Uint8Array): string {
  return createHmac('sha256', pepper).update(secret).digest('hex');
}

/** The form shown in lists: prefix, first four and last four characters. */
export function maskSecret(secret: string): string {
  const start = secret.length - 48;
  return `${secret.slice(0, start + 4)}…${secret.slice(-4)}`;
}
