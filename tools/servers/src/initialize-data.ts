import { randomBytes } from 'node:crypto';
import { chown, readFile, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from './run-command.js';
import { ResolverSkipped, majorOf } from './server-kind.js';
import type { Program, ServerUser } from './server-kind.js';

const INITDB_TIMEOUT_MS = 120_000;
/** Prefix of unfinished data, also of an earlier start that was killed. */
export const UNFINISHED = 'new-';

/**
 * Creates `<home>/data` with initdb unless it exists. Data gets its name only when complete, so a
 * later start never uses the remains of a killed initdb. Throws `ResolverSkipped` for data of
 * another major version.
 */
export async function initializeData(
  program: Program,
  home: string,
  user: ServerUser | null,
  options: { password: string; durable: boolean },
): Promise<string> {
  const data = join(home, 'data');
  if (await isMade(program, data)) return data;
  await removeUnfinished(home);
  const draft = join(home, `${UNFINISHED}${randomBytes(6).toString('hex')}`);
  const passwordFile = `${draft}.password`;
  await writeFile(passwordFile, `${options.password}\n`, { mode: 0o600, flag: 'wx' });
  if (user) await chown(passwordFile, user.uid, user.gid);
  const args = ['-D', draft, '--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  args.push('--encoding=UTF8', '--locale=C', ...(options.durable ? [] : ['--no-sync']));
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
 * Reports whether data exists.
 * @throws ResolverSkipped if another major version created it
 */
export async function isMade(program: Program, data: string): Promise<boolean> {
  const made = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => null);
  if (made === null || Number(made) === majorOf(program.version)) return made !== null;
  throw new ResolverSkipped(
    `${program.path} is version ${program.version}, but the data in ${data} was created by version ${made.trim()} (npm run reset deletes it)`,
  );
}

/** Returns the path of initdb, which is next to the real server program, not next to a link. */
export async function initdbOf(path: string): Promise<string> {
  return join(dirname(await realpath(path)), 'initdb');
}

export async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (name.startsWith(UNFINISHED)) await rm(join(home, name), { recursive: true, force: true });
  }
}
