import { chmod, chown, lstat, mkdir, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isOutside, outsideDirectory } from './outside-directory.js';
import { ResolverSkipped } from './server-kind.js';
import type { ServerUser } from './server-kind.js';
import { canEnter } from './server-user.js';
import { recordOrigin, sweepOutside } from './sweep-outside.js';

/**
 * The directory in which PostgreSQL keeps its data: `<state>/postgres`, owned by the user that runs
 * the server. When that user cannot enter the state directory (a checkout under /root),
 * `<state>/postgres` is a link to a directory under /var/tmp. The link decides: deleted state
 * starts empty, and directories to which no link leads are deleted when a new one is made.
 */
export async function placeData(stateDirectory: string, user: ServerUser | null): Promise<string> {
  const inside = join(stateDirectory, 'postgres');
  await mkdir(stateDirectory, { recursive: true });
  if (!user) {
    await mkdir(inside, { recursive: true, mode: 0o700 });
    return inside;
  }
  const linked = await readlink(inside).catch(() => null);
  if (linked !== null) return reuseLinked(linked, user);
  await admitGroup(stateDirectory, user);
  if (await canEnter(stateDirectory, user)) return own(inside, user);
  const outside = await outsideDirectory('state', await realpath(stateDirectory));
  await sweepOutside(outside);
  await rm(outside, { recursive: true, force: true });
  await rm(inside, { recursive: true, force: true });
  await symlink(outside, inside);
  await recordOrigin(outside, inside);
  return own(outside, user);
}

async function reuseLinked(target: string, user: ServerUser): Promise<string> {
  if (!isOutside(target)) throw new ResolverSkipped(`the link to ${target} in the state directory is not ours`);
  return own(target, user);
}

/**
 * Root's private directory (0700) is opened for entering, not for listing, to the group that only
 * the server's user has.
 */
async function admitGroup(directory: string, user: ServerUser): Promise<void> {
  const { uid, mode } = await stat(directory);
  if (uid !== 0 || (mode & 0o077) !== 0) return;
  await chown(directory, 0, user.gid);
  await chmod(directory, 0o710);
}

async function own(directory: string, user: ServerUser): Promise<string> {
  await mkdir(directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const { uid } = await lstat(directory);
  if (uid !== user.uid && uid !== 0) throw new ResolverSkipped(`${directory} belongs to user ${uid}`);
  await chown(directory, user.uid, user.gid);
  return directory;
}
