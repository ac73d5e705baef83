import { access, constants, readdir, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand } from './run-command.js';
import { isAtLeast } from './server-kind.js';
import type { ProgramSearch, Program, ServerKind } from './server-kind.js';

const COMMON_PLACES = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
];

/**
 * Finds the usable server programs of this machine, best first. If the environment names a program,
 * only that one counts.
 */
export async function findBinaries(kind: ServerKind, env: NodeJS.ProcessEnv): Promise<ProgramSearch> {
  const found: ProgramSearch = { programs: [], reasons: [] };
  const named = env[kind.binaryVariable];
  const paths = named ? [named] : await candidates(kind, env);
  for (const path of paths) {
    const program = await examineProgram(kind, path, {});
    const source = named ? `${kind.binaryVariable}=${named}` : path;
    if (typeof program === 'string') found.reasons.push(program);
    else found.programs.push({ ...program, resolver: 'binary', source });
  }
  if (paths.length === 0) found.reasons.push(`${kind.binaryVariable} is not set and no ${kind.programName} was found`);
  return found;
}

/**
 * Runs `path --version` and returns a text if the program cannot be used. Does not follow a link,
 * because Debian's redis-server is a link to a program whose behaviour depends on its name.
 */
export async function examineProgram(
  kind: ServerKind,
  path: string,
  env: Record<string, string>,
): Promise<Omit<Program, 'resolver' | 'source'> | string> {
  if (!(await isExecutable(path))) return `${path} is not an executable file`;
  const result = await runCommand(path, ['--version'], { env });
  if (!result.ok) return `${path} does not run: ${result.problem}`;
  const version = kind.versionPattern.exec(result.stdout)?.[1];
  if (version === undefined) return `${path} does not report a version`;
  if (!isAtLeast(version, kind.minimumVersion))
    return `${path} is ${version}, at least ${kind.minimumVersion} is needed`;
  const refusal = await kind.refuseProgram?.(path);
  return refusal ?? { path, version, env };
}

/** Returns existing executables, each real file once. */
async function candidates(kind: ServerKind, env: NodeJS.ProcessEnv): Promise<string[]> {
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((directory) => directory.startsWith('/'));
  const usual = (await Promise.all(kind.usualPlaces.map(expand))).flat();
  const found = new Map<string, string>();
  for (const directory of [...onPath, ...COMMON_PLACES, ...usual]) {
    const path = join(directory, kind.programName);
    const real = await realpath(path).catch(() => null);
    if (real !== null && !found.has(real) && (await isExecutable(path))) found.set(real, path);
  }
  return [...found.values()];
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Returns directories that match a pattern with `*` before its last part, higher numbers first. */
async function expand(pattern: string): Promise<string[]> {
  const star = pattern.indexOf('*');
  if (star < 0) return [pattern];
  const start = pattern.lastIndexOf('/', star) + 1;
  const end = pattern.indexOf('/', star);
  const [before, after] = [pattern.slice(start, star), pattern.slice(star + 1, end)];
  const names = await readdir(pattern.slice(0, start)).catch(() => []);
  return names
    .filter((name) => name.startsWith(before) && name.endsWith(after))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => join(pattern.slice(0, start), name, pattern.slice(end)));
}
