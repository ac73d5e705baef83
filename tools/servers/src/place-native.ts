import { randomBytes } from 'node:crypto';
import { access, chmod, cp, mkdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { outsideDirectory } from './outside-directory.js';
import { runCommand } from './run-command.js';
import type { ServerUser } from './server-kind.js';
import { findRunProblem, serverUser } from './server-user.js';

const LINKS_FILE = 'pg-symlinks.json';
const CHMOD_TIMEOUT_MS = 10_000;
const NAME_PATTERN = /^native\/[\w.+/-]+$/;

/**
 * Returns the `native` directory of an embedded PostgreSQL with its library links, which the
 * package leaves to an install script that does not run here. It is used in place if it is writable
 * or complete and the server's user can run it. Otherwise a copy is used: under /var/tmp for root,
 * in the cache directory for other users.
 */
export async function prepareNative(native: string, cacheDirectory: string): Promise<string> {
  const user = serverUser();
  const links = await readLinks(native);
  const linked = await makeLinks(native, links).then(
    () => true,
    () => false,
  );
  if (linked && (await findRunProblem(join(native, 'bin', 'postgres'), user, {})) === null) return native;
  return copyNative(native, links, cacheDirectory, user);
}

interface Link {
  source: string;
  target: string;
}

async function readLinks(native: string): Promise<Link[]> {
  const listed = JSON.parse(await readFile(join(native, LINKS_FILE), 'utf8')) as Link[];
  const stray = listed.find(({ source, target }) => ![source, target].every(isInside));
  if (stray) throw new Error(`${LINKS_FILE} leads out of its package: ${stray.target}`);
  return listed;
}

function isInside(path: string): boolean {
  return NAME_PATTERN.test(path) && !path.includes('..');
}

async function makeLinks(native: string, links: Link[]): Promise<void> {
  const root = dirname(native);
  for (const { source, target } of links) {
    const place = join(root, target);
    await symlink(relative(dirname(place), join(root, source)), place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/**
 * Copies the directory under another name and renames the complete copy. Two processes may
 * therefore copy concurrently, and a partial copy is never used.
 */
async function copyNative(
  native: string,
  links: Link[],
  cacheDirectory: string,
  user: ServerUser | null,
): Promise<string> {
  const version = await readVersion(native);
  const home = user
    ? await outsideDirectory('postgres', `${await realpath(native)} ${version}`)
    : join(cacheDirectory, `postgres-${version}`);
  const place = join(home, 'native');
  const complete = await access(place).then(
    () => true,
    () => false,
  );
  if (complete) return place;
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  const draft = join(home, `draft-${randomBytes(6).toString('hex')}`);
  try {
    await cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    await makeLinks(join(draft, 'native'), links);
    await rename(join(draft, 'native'), place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}

/** Makes directories readable for all users, also after a checkout with a strict umask. */
async function openToAll(directory: string): Promise<void> {
  const result = await runCommand('/bin/chmod', ['-R', 'a+rX', directory], { timeoutMs: CHMOD_TIMEOUT_MS });
  if (!result.ok) throw new Error(result.problem);
}

async function readVersion(native: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as { version?: string };
  return manifest.version ?? 'unknown';
}
