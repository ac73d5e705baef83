import { createHash, randomBytes } from 'node:crypto';

/** The token of a link in a mail: 256 bits of the system's random source in base64url. */
export function makeMailToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of it. It needs no pepper: 256 random bits cannot be searched. */
export function digestOfMailToken(token: string): string {
  return createHash('sha256').update(`mail-token:${token}`).digest('hex');
}
