import { createHash, randomBytes } from 'node:crypto';

/** Creates the token of a link in an email: 256 bits of the system's random source in base64url. */
export function makeMailToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the stored form. It needs no pepper: 256 random bits cannot be searched. */
export function digestOfMailToken(token: string): string {
  return createHash('sha256').update(`mail-token:${token}`).digest('hex');
}
