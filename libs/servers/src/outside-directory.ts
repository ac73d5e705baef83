import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Every user can enter it and it survives a reboot. */
const BASE = '/var/tmp/gateway-servers-0';
const HASH_CHARACTERS = 16;

/**
 * A path outside the checkout for what root has but PostgreSQL's unprivileged user must reach; the
 * same `key` gives the same path. Its parent belongs to root, so no other local user can put
 * something of theirs there first.
 */
export async function outsideDirectory(label: string, key: string): Promise<string> {
  await mkdir(BASE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const stat = await lstat(BASE);
  if (!stat.isDirectory() || stat.uid !== 0) throw new Error(`${BASE} does not belong to root: remove it`);
  await chmod(BASE, 0o711);
  const hash = createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARACTERS);
  return join(BASE, `${label}-${hash}`);
}

/** Whether a link found in a state directory leads to a place that `outsideDirectory` gave. */
export function isOutside(target: string): boolean {
  return target.startsWith(`${BASE}/`) && !target.includes('..');
}
