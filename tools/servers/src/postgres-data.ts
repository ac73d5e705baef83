import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, copyFile, mkdir, readFile, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { runCommand } from './run-command.js';
import { ResolverSkipped, majorOf } from './server-kind.js';
import type { Program, ServerUser } from './server-kind.js';
import type { PostgresFollows } from './server.js';

const INITDB_TIMEOUT_MS = 120_000;
/** Timeout of the checkpoint at the start of a copy, and of each other statement. */
const STATEMENT_MS = 60_000;
/** Prefix of unfinished data, also of an earlier start that was killed. */
const UNFINISHED = 'new-';
/** A server with this file is a standby. A promotion removes the file. */
const STANDBY_FILE = 'standby.signal';
/** From this version on the functions are called `pg_backup_…`. */
const NEW_NAMES_SINCE = 15;
/** Directories of the running server. They must exist but are copied empty. */
const EMPTIED = /^pg_(wal|dynshmem|notify|replslot|serial|snapshots|stat_tmp|subtrans)$/;
const LEFT_OUT =
  /^(postmaster\.(pid|opts)|(standby|recovery)\.signal|backup_label|tablespace_map|pg_internal\.init|pgsql_tmp.*)$/;
/** Number of files of one directory that are copied concurrently. */
const COPIED_AT_ONCE = 32;

/**
 * Creates `<home>/data` with initdb unless it exists. Data gets its name only when complete, so a
 * later start never uses the remains of a killed initdb.
 * @throws ResolverSkipped for data of another major version
 */
export async function initializeData(
  program: Program,
  home: string,
  user: ServerUser | null,
  { password, durable }: { password: string; durable: boolean },
): Promise<string> {
  const data = join(home, 'data');
  if (await isMade(program, data)) return data;
  const draft = await draftIn(home);
  const passwordFile = `${draft}.password`;
  await writeOwned(passwordFile, `${password}\n`, user);
  const args = ['-D', draft, '--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  args.push('--encoding=UTF8', '--locale=C', ...(durable ? [] : ['--no-sync']));
  const initdb = await initdbOf(program.path);
  const result = await runCommand(initdb, args, { timeoutMs: INITDB_TIMEOUT_MS, env: program.env, user });
  await rm(passwordFile, { force: true });
  if (!result.ok) {
    await rm(draft, { recursive: true, force: true });
    throw new ResolverSkipped(`${initdb} failed: ${result.problem}`);
  }
  await rename(draft, data);
  return data;
}

/**
 * Provides the data of a standby that follows the primary at this address. Data without a standby
 * file belonged to a former primary and may contain commits that the current primary never had, so
 * a copy replaces it.
 */
export async function prepareStandbyData(
  program: Program,
  home: string,
  user: ServerUser | null,
  { url, name }: PostgresFollows,
): Promise<string> {
  const data = join(home, 'data');
  const isStandby = (await isMade(program, data)) && existsSync(join(data, STANDBY_FILE));
  if (!isStandby) await copyPrimary(program, home, user, url);
  // The file has no other settings, because the copy would contain them.
  const text = conninfo(url, name).replaceAll("'", "''");
  await writeOwned(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${text}'\n`, user);
  return data;
}

/** Returns a standby's connection string for the primary at `url`, with the password. */
export function conninfo(url: string, name: string): string {
  const { hostname, port, username, password } = new URL(url);
  const parts = {
    host: hostname,
    port,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    application_name: name,
  };
  return Object.entries(parts)
    .map(([key, value]) => `${key}='${value.replace(/[\\']/g, '\\$&')}'`)
    .join(' ');
}

/** Returns the path of initdb, which is next to the real server program, not next to a link. */
export async function initdbOf(path: string): Promise<string> {
  return join(dirname(await realpath(path)), 'initdb');
}

/**
 * Reports whether data exists.
 * @throws ResolverSkipped if another major version created it
 */
async function isMade(program: Program, data: string): Promise<boolean> {
  const made = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => null);
  if (made === null || Number(made) === majorOf(program.version)) return made !== null;
  throw new ResolverSkipped(
    `${program.path} is version ${program.version}, but the data in ${data} was created by version ${made.trim()} (npm run reset deletes it)`,
  );
}

/** Removes unfinished data and returns a new path for it. */
async function draftIn(home: string): Promise<string> {
  for (const name of await readdir(home))
    if (name.startsWith(UNFINISHED)) await rm(join(home, name), { recursive: true, force: true });
  return join(home, `${UNFINISHED}${randomBytes(6).toString('hex')}`);
}

/**
 * Copies the data of the running primary at `url`, which is on this machine, to `<home>/data` and
 * replaces earlier data. Follows PostgreSQL's backup protocol, without tools that npm's PostgreSQL
 * lacks. A standby that starts on the copy fetches newer changes from the log.
 */
async function copyPrimary(program: Program, home: string, user: ServerUser | null, url: string): Promise<void> {
  const data = join(home, 'data');
  const draft = await draftIn(home);
  const client = new pg.Client({ connectionString: url, query_timeout: STATEMENT_MS, application_name: 'copy' });
  client.on('error', () => undefined);
  const [start, stop] =
    majorOf(program.version) >= NEW_NAMES_SINCE
      ? ["pg_backup_start('standby', true)", 'pg_backup_stop()']
      : ["pg_start_backup('standby', true, false)", 'pg_stop_backup(false)'];
  try {
    await client.connect();
    const { rows } = await client.query<{ directory: string }>(`SELECT current_setting('data_directory') AS directory`);
    await client.query(`SELECT ${start}`);
    await copyDirectory(rows[0]?.directory ?? '', draft, user);
    const stopped = await client.query<{ labelfile: string }>(`SELECT labelfile FROM ${stop}`);
    await writeOwned(join(draft, 'backup_label'), stopped.rows[0]?.labelfile ?? '', user);
    await writeOwned(join(draft, STANDBY_FILE), '', user);
    await rm(data, { recursive: true, force: true });
    await rename(draft, data);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new ResolverSkipped(`the primary cannot be copied: ${(error as Error).message}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function copyDirectory(from: string, to: string, user: ServerUser | null, isEmptied = false): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  await giveTo(user, to);
  const entries = isEmptied ? [] : await readdir(from, { withFileTypes: true });
  const copied = entries.filter(({ name }) => !LEFT_OUT.test(name));
  for (let at = 0; at < copied.length; at += COPIED_AT_ONCE) {
    const copies = copied.slice(at, at + COPIED_AT_ONCE).map((entry) => {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) return copyDirectory(source, target, user, EMPTIED.test(entry.name));
      return copyOne(source, target, user);
    });
    await Promise.all(copies);
  }
}

/** Skips a file that is deleted meanwhile; the log contains its changes. */
async function copyOne(source: string, target: string, user: ServerUser | null): Promise<void> {
  try {
    await copyFile(source, target);
    await giveTo(user, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Writes a file that only the server can read, because it may contain a password. */
async function writeOwned(file: string, text: string, user: ServerUser | null): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  await giveTo(user, file);
}

async function giveTo(user: ServerUser | null, path: string): Promise<void> {
  if (user) await chown(path, user.uid, user.gid);
}
