import { chmod, chown, lstat, mkdir, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isOutside, outsideDirectory } from './outside-directory.js';
import { ResolverSkipped } from './server-kind.js';
import type { ServerUser } from './server-kind.js';
import { canEnter } from './server-user.js';
import { recordOrigin, sweepOutside } from './sweep-outside.js';

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
  if (!isOutside(target))
    throw new ResolverSkipped(`the link to ${target} in the state directory was not created by the gateway`);
  return own(target, user);
}

/** Permits the server user's group to enter, but not list, a private directory of root. */
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
