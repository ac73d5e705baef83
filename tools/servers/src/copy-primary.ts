import { randomBytes } from 'node:crypto';
import { chown, copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { UNFINISHED } from './initialize-data.js';
import { majorOf, ResolverSkipped } from './server-kind.js';
import type { Program, ServerUser } from './server-kind.js';

/** Timeout of the checkpoint at the start of a copy, and of each other statement. */
const STATEMENT_MS = 60_000;
/** From this version on the functions are called `pg_backup_…`. */
const NEW_NAMES_SINCE = 15;
/** Directories of the running server. They must exist but are copied empty. */
const EMPTIED = new Set([
  'pg_wal',
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const LEFT_OUT =
  /^(postmaster\.(pid|opts)|(standby|recovery)\.signal|backup_label|tablespace_map|pg_internal\.init|pgsql_tmp.*)$/;

/**
 * Copies the data of the running primary at `url`, which is on this machine, to `<home>/data` and
 * replaces earlier data. Follows PostgreSQL's backup protocol, without tools that npm's PostgreSQL
 * lacks. A standby that starts on the copy fetches newer changes from the log.
 */
export async function copyPrimary(
  program: Program,
  home: string,
  user: ServerUser | null,
  url: string,
): Promise<string> {
  const data = join(home, 'data');
  const draft = join(home, `${UNFINISHED}${randomBytes(6).toString('hex')}`);
  const client = new pg.Client({ connectionString: url, query_timeout: STATEMENT_MS, application_name: 'copy' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const hasNewNames = majorOf(program.version) >= NEW_NAMES_SINCE;
    const { rows } = await client.query<{ directory: string }>(`SELECT current_setting('data_directory') AS directory`);
    await client.query(
      hasNewNames ? `SELECT pg_backup_start('standby', true)` : `SELECT pg_start_backup('standby', true, false)`,
    );
    await copyDirectory(rows[0]?.directory ?? '', draft, user);
    const stopped = await client.query<{ labelfile: string }>(
      `SELECT labelfile FROM ${hasNewNames ? 'pg_backup_stop()' : 'pg_stop_backup(false)'}`,
    );
    await writeOwned(join(draft, 'backup_label'), stopped.rows[0]?.labelfile ?? '', user);
    await writeOwned(join(draft, STANDBY_FILE), '', user);
    await rm(data, { recursive: true, force: true });
    await rename(draft, data);
    return data;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new ResolverSkipped(`the primary cannot be copied: ${(error as Error).message}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A server with this file is a standby. A promotion removes the file. */
export const STANDBY_FILE = 'standby.signal';

/** Writes a file that only the server can read, because it may contain a password. */
export async function writeOwned(file: string, text: string, user: ServerUser | null): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  if (user) await chown(file, user.uid, user.gid);
}

/** Number of files of one directory that are copied concurrently. */
const COPIED_AT_ONCE = 32;

async function copyDirectory(from: string, to: string, user: ServerUser | null): Promise<void> {
  await makeDirectory(to, user);
  const entries = (await readdir(from, { withFileTypes: true })).filter(({ name }) => !LEFT_OUT.test(name));
  for (const entry of entries.filter((one) => one.isDirectory())) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    await (EMPTIED.has(entry.name) ? makeDirectory(target, user) : copyDirectory(source, target, user));
  }
  const files = entries.filter((one) => !one.isDirectory());
  for (let at = 0; at < files.length; at += COPIED_AT_ONCE) {
    const some = files.slice(at, at + COPIED_AT_ONCE);
    await Promise.all(some.map(({ name }) => copyOne(join(from, name), join(to, name), user)));
  }
}

async function makeDirectory(path: string, user: ServerUser | null): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (user) await chown(path, user.uid, user.gid);
}

/** Skips a file that is deleted meanwhile; the log contains its changes. */
async function copyOne(source: string, target: string, user: ServerUser | null): Promise<void> {
  try {
    await copyFile(source, target);
    if (user) await chown(target, user.uid, user.gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
