import { createHash } from 'node:crypto';

/**
 * Names a content: the first 72 bits of its SHA-256 as 12 characters of base64url, so that equal
 * contents meet.
 */
export function shortHash(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}
