import { createHash } from 'node:crypto';

/** The user of Redis with which admission signs in. */
export const ADMISSION_USER = 'admission';

/**
 * What admission and its scripts do: hashes, sorted sets, strings and the life of keys, scripts
 * known by their digest, a walk over keys in steps, and the two questions of the handshake. Not:
 * deleting a database, reading or changing the server, all keys at once, scripts sent in full.
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
 * The words of each `user` line of a Redis ACL: `default`, who may do all, and admission.
 * Passwords are in it as SHA-256, so they must be random ones.
 */
export function redisUsers(passwords: { readonly default: string; readonly admission: string }): string[][] {
  return [
    ['user', 'default', 'on', hashed(passwords.default), '~*', '&*', '+@all'],
    admissionUser(passwords.admission),
  ];
}

/** The words of the `user` line of admission alone. */
export function admissionUser(password: string): string[] {
  return ['user', ADMISSION_USER, 'on', hashed(password), ...ADMISSION_RULES];
}

function hashed(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`;
}
