import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readFile, readdir, readlink, realpath } from 'node:fs/promises';
import { rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isServing, readLock } from './left-over-server.js';
import { canEnter } from './run-command.js';
import { ResolverSkipped } from './server-kind.js';
import type { ServerUser } from './server-kind.js';

/** Every user can enter it, and it survives a reboot. */
const OUTSIDE = '/var/tmp/gateway-servers-0';
const HASH_CHARACTERS = 16;
const ORIGIN_SUFFIX = '.origin';

/**
 * Returns PostgreSQL's data directory `<state>/postgres`, owned by the user that runs the server.
 * If that user cannot enter the state directory (a checkout under /root), `<state>/postgres` is a
 * link to a directory under /var/tmp. The link decides: after the state is deleted, the data starts
 * empty, and a new link deletes directories without a link.
 */
export async function prepareDataDirectory(stateDirectory: string, user: ServerUser | null): Promise<string> {
  const inside = join(stateDirectory, 'postgres');
  await mkdir(stateDirectory, { recursive: true });
  if (!user) {
    await mkdir(inside, { recursive: true, mode: 0o700 });
    return inside;
  }
  const linked = await readlink(inside).catch(() => null);
  if (linked !== null) {
    if (linked.startsWith(`${OUTSIDE}/`) && !linked.includes('..')) return own(linked, user);
    throw new ResolverSkipped(`the link to ${linked} in the state directory was not created by the gateway`);
  }
  await admitGroup(stateDirectory, user);
  if (await canEnter(stateDirectory, user)) return own(inside, user);
  const outside = await outsideDirectory('state', await realpath(stateDirectory));
  await sweepOutside();
  for (const old of [outside, inside]) await rm(old, { recursive: true, force: true });
  await symlink(outside, inside);
  await writeFile(`${outside}${ORIGIN_SUFFIX}`, inside, { mode: 0o600 });
  return own(outside, user);
}

/** Permits the server user's group to enter, but not list, a private directory of root. */
async function admitGroup(directory: string, user: ServerUser): Promise<void> {
  const { uid, mode } = await stat(directory);
  if (uid !== 0 || (mode & 0o077) !== 0) return;
  await chown(directory, 0, user.gid);
  await chmod(directory, 0o710);
}

async function own(directory: string, user: ServerUser): Promise<string> {
  await makeDirectory(directory, 0o700);
  const { uid } = await lstat(directory);
  if (uid !== user.uid && uid !== 0) throw new ResolverSkipped(`${directory} belongs to user ${uid}`);
  await chown(directory, user.uid, user.gid);
  return directory;
}

/**
 * Returns a path outside the checkout for files of root that PostgreSQL's unprivileged user must
 * reach. The same `key` gives the same path. The parent directory belongs to root, so no other
 * local user can create the path first.
 */
export async function outsideDirectory(label: string, key: string): Promise<string> {
  await makeDirectory(OUTSIDE, 0o711);
  const found = await lstat(OUTSIDE);
  if (!found.isDirectory() || found.uid !== 0) throw new Error(`${OUTSIDE} does not belong to root: remove it`);
  await chmod(OUTSIDE, 0o711);
  const hash = createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARACTERS);
  return join(OUTSIDE, `${label}-${hash}`);
}

/** Creates the directory unless something has this name. */
async function makeDirectory(path: string, mode: number): Promise<void> {
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Deletes data directories outside that no link points to and no server uses. */
async function sweepOutside(): Promise<void> {
  for (const name of (await readdir(OUTSIDE)).filter((entry) => entry.endsWith(ORIGIN_SUFFIX))) {
    const directory = join(OUTSIDE, basename(name, ORIGIN_SUFFIX));
    const link = await readFile(join(OUTSIDE, name), 'utf8').catch(() => null);
    if (link === null || (await readlink(link).catch(() => null)) === directory) continue;
    const data = join(directory, 'data');
    if (await isServing({ pid: await readLock(data), mark: data })) continue;
    await rm(directory, { recursive: true, force: true });
    await rm(join(OUTSIDE, name), { force: true });
  }
}
