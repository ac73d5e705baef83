import { createHash } from 'node:crypto';

/**
 * Returns a short name for a content: the first 72 bits of its SHA-256 as 12 characters of
 * base64url. Equal contents have equal names.
 */
export function shortHash(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}
