import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { examineProgram } from './find-binaries.js';
import { runCommand, type CommandResult } from './run-command.js';
import type { Program, ProgramSearch, ServerKind } from './server-kind.js';

const APT_GET = '/usr/bin/apt-get';
const DPKG_DEB = '/usr/bin/dpkg-deb';
const STEP_TIMEOUT_MS = 120_000;
const NETWORK_TIMEOUT_S = 20;

/**
 * Finds a server in Debian packages, which are unpacked into the cache directory without root and
 * without an installation. Without `fetch` it only checks whether the packages were fetched before
 * or could be.
 * @param path of the program in the unpacked packages
 */
export async function findDebianProgram(
  kind: ServerKind,
  packages: readonly string[],
  path: string,
  cacheDirectory: string,
  { fetch, log }: { fetch: boolean; log(line: string): void },
): Promise<ProgramSearch> {
  const none = (reason: string): ProgramSearch => ({ programs: [], reasons: [reason] });
  for (const tool of [APT_GET, DPKG_DEB])
    if (!existsSync(tool)) return none(`packages cannot be fetched: this system has no ${tool}`);
  const place = await packageDirectory(cacheDirectory, kind.name);
  const examine = async (root: string): ReturnType<typeof examineProgram> =>
    examineProgram(kind, join(root, path), await libraryPath(root));
  if (!existsSync(place)) {
    const names = packages.join(', ');
    const source = `Debian packages ${names}`;
    const later: Program = { resolver: 'project', path, version: 'fetched on first start', source, env: {} };
    if (!fetch) return { programs: [later], reasons: [] };
    try {
      await fetchDebianPackages(packages, place, log, async (draft) => {
        const program = await examine(draft);
        return typeof program === 'string' ? program : null;
      });
    } catch (error) {
      return none((error as Error).message);
    }
  }
  const program = await examine(place);
  if (typeof program === 'string') return none(program);
  const source = `Debian package ${packages[0]} in ${place}`;
  return { programs: [{ ...program, resolver: 'project', source }], reasons: [] };
}

/** Returns LD_LIBRARY_PATH with the libraries below `root`; an empty object if there are none. */
export async function libraryPath(root: string): Promise<Record<string, string>> {
  const found: string[] = [];
  for (const base of ['usr/lib', 'lib']) {
    const names = await readdir(join(root, base)).catch(() => []);
    for (const name of names.filter((entry) => entry.includes('-linux-'))) found.push(join(root, base, name));
  }
  return found.length > 0 ? { LD_LIBRARY_PATH: found.join(':') } : {};
}

/** Returns for example CACHE/debian-12-x64/nginx: a release does not use another one's programs. */
export async function packageDirectory(cacheDirectory: string, name: string): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (key: string): string => new RegExp(`^${key}="?([\\w.-]+)"?$`, 'm').exec(text)?.[1] ?? 'unknown';
  return join(cacheDirectory, `${value('ID')}-${value('VERSION_ID')}-${process.arch}`, name);
}

/**
 * Downloads packages and their missing libraries, unpacks them into a draft directory, checks the
 * draft with `refuse` and renames it to `place`. `place` therefore exists only when complete, and
 * two processes may fetch concurrently. Uses the system's package lists if they are current, else
 * private ones. The system's package state is neither locked nor changed.
 */
export async function fetchDebianPackages(
  packages: readonly string[],
  place: string,
  log: (line: string) => void,
  refuse: (draft: string) => Promise<string | null>,
): Promise<void> {
  const startedAt = performance.now();
  const draft = `${place}.draft-${randomBytes(6).toString('hex')}`;
  const work = join(draft, 'apt');
  const root = join(draft, 'root');
  try {
    for (const name of ['archives/partial', 'lists/partial', 'log']) await mkdir(join(work, name), { recursive: true });
    await mkdir(root);
    log(`fetching Debian packages ${packages.join(', ')}`);
    await download(packages, work);
    for (const file of (await readdir(work)).filter((name) => name.endsWith('.deb'))) {
      const result = await runCommand(DPKG_DEB, ['-x', join(work, file), root], { timeoutMs: STEP_TIMEOUT_MS });
      if (!result.ok) throw new Error(`${file} cannot be unpacked: ${result.problem}`);
    }
    const refusal = await refuse(root);
    if (refusal !== null) throw new Error(refusal);
    await mkdir(dirname(place), { recursive: true });
    await renameUnlessMade(root, place);
    log(`fetched in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Renames a complete directory. Another process may have made the same one meanwhile. */
export async function renameUnlessMade(draft: string, place: string): Promise<void> {
  await rename(draft, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}

async function download(packages: readonly string[], work: string): Promise<void> {
  const settings = {
    'Dir::Cache': work,
    'Dir::Cache::archives': join(work, 'archives'),
    'Dir::Log': join(work, 'log'),
    'Debug::NoLocking': '1',
    // Without root, the download would need a directory that the user _apt can write.
    'APT::Sandbox::User': 'root',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': String(NETWORK_TIMEOUT_S),
    'Acquire::https::Timeout': String(NETWORK_TIMEOUT_S),
  };
  if ((await downloadOnce(packages, work, settings)).ok) return;
  const own = {
    ...settings,
    'Dir::State': work,
    'Dir::State::lists': join(work, 'lists'),
    'Dir::State::status': '/var/lib/dpkg/status',
  };
  // The result is ignored: one unreachable source of many fails the update although the other
  // sources work.
  const update = await apt(['update'], work, own);
  const second = await downloadOnce(packages, work, own);
  if (second.ok) return;
  const problem = [second.problem, update.ok ? '' : update.problem].filter((text) => text !== '').join('; ');
  throw new Error(`apt-get could not download ${packages.join(', ')}: ${problem}`);
}

/**
 * Downloads packages and the libraries that an installation would add. Other packages (service
 * scripts, users) are only for a system installation. The C library is left out, because a process
 * cannot run with parts of two versions.
 */
async function downloadOnce(
  packages: readonly string[],
  work: string,
  settings: Record<string, string>,
): Promise<CommandResult> {
  const plan = ['--print-uris', '-y', '--no-install-recommends', 'install', ...packages];
  const { stdout } = await apt(plan, work, settings);
  const files = stdout.split('\n').flatMap((line) => /^'[^']+' (\S+)_[^_\s]+_\w+\.deb /.exec(line)?.[1] ?? []);
  const libraries = files.filter((name) => /^lib(?!c6)/.test(name) && !packages.includes(name));
  return apt(['download', ...packages, ...libraries], work, settings);
}

function apt(args: string[], cwd: string, settings: Record<string, string>): Promise<CommandResult> {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return runCommand(APT_GET, ['-qq', ...options, ...args], { timeoutMs: STEP_TIMEOUT_MS, cwd });
}
