import { createHash } from 'node:crypto';

/** The Redis user of admission. */
export const ADMISSION_USER = 'admission';

/**
 * The commands that admission and its scripts need: hashes, sorted sets, strings and key expiry,
 * scripts by digest, SCAN, and the handshake. Not permitted: flushing a database, reading or
 * changing the server, listing all keys at once, sending full scripts.
 */
const ADMISSION_RULES = [
  'resetchannels',
  '~*',
  '-@all',
  '+@hash',
  '+@sortedset',
  '+@string',
  '+exists',
  '+expire',
  '+pexpire',
  '+persist',
  '+scan',
  '+del',
  '+unlink',
  '-@dangerous',
  '+evalsha',
  '+script|load',
  '+time',
  '+info',
  '+ping',
  '+client|setname',
] as const;

/**
 * Returns the words of each `user` line of a Redis ACL: `default`, with all permissions, and
 * admission. Passwords are stored as SHA-256, so they must be random.
 */
export function redisUsers(passwords: { readonly default: string; readonly admission: string }): string[][] {
  return [
    ['user', 'default', 'on', hashed(passwords.default), '~*', '&*', '+@all'],
    admissionUser(passwords.admission),
  ];
}

/** Returns the words of admission's `user` line. */
export function admissionUser(password: string): string[] {
  return ['user', ADMISSION_USER, 'on', hashed(password), ...ADMISSION_RULES];
}

function hashed(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`;
}
