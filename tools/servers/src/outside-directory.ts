import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Every user can enter it, and it survives a reboot. */
const BASE = '/var/tmp/gateway-servers-0';
const HASH_CHARACTERS = 16;

/**
 * Returns a path outside the checkout for files of root that PostgreSQL's unprivileged user must
 * reach. The same `key` gives the same path. The parent directory belongs to root, so no other
 * local user can create the path first.
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

/** Reports whether a link in a state directory points to a path of `outsideDirectory`. */
export function isOutside(target: string): boolean {
  return target.startsWith(`${BASE}/`) && !target.includes('..');
}
