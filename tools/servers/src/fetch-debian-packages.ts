import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from './run-command.js';
import type { CommandResult } from './run-command.js';

const APT_GET = '/usr/bin/apt-get';
const UPDATE_TIMEOUT_MS = 120_000;
const STEP_TIMEOUT_MS = 120_000;
const NETWORK_TIMEOUT_S = 20;

/**
 * Downloads packages and their missing libraries, unpacks them into a draft directory, checks the
 * draft with `refuse` and renames it to `place`. `place` therefore exists only when complete, and
 * two processes may fetch concurrently. Uses the system's package lists if they are current, else
 * private ones. The system's package state is neither locked nor changed.
 */
export async function fetchDebianPackages(
  packages: string[],
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
      const result = await runCommand('/usr/bin/dpkg-deb', ['-x', join(work, file), root], {
        timeoutMs: STEP_TIMEOUT_MS,
      });
      if (!result.ok) throw new Error(`${file} cannot be unpacked: ${result.problem}`);
    }
    const refusal = await refuse(root);
    if (refusal !== null) throw new Error(refusal);
    await mkdir(dirname(place), { recursive: true });
    await rename(root, place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    log(`fetched in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function download(packages: string[], work: string): Promise<void> {
  const withSystemLists = commonOptions(work);
  const first = await downloadOnce(packages, work, withSystemLists);
  if (first.ok) return;
  const withOwnLists = [
    ...withSystemLists,
    ...option('Dir::State', work),
    ...option('Dir::State::lists', join(work, 'lists')),
    ...option('Dir::State::status', '/var/lib/dpkg/status'),
  ];
  // The result is ignored: one unreachable source of many fails the update although the other
  // sources work.
  const update = await runCommand(APT_GET, [...withOwnLists, 'update'], { timeoutMs: UPDATE_TIMEOUT_MS, cwd: work });
  const second = await downloadOnce(packages, work, withOwnLists);
  if (second.ok) return;
  const problem = [second.problem, update.ok ? '' : update.problem].filter((text) => text !== '').join('; ');
  throw new Error(`apt-get could not download ${packages.join(', ')}: ${problem}`);
}

async function downloadOnce(packages: string[], work: string, options: string[]): Promise<CommandResult> {
  const names = [...packages, ...(await missingLibraries(packages, options))];
  return runCommand(APT_GET, [...options, 'download', ...names], { timeoutMs: STEP_TIMEOUT_MS, cwd: work });
}

/**
 * Returns the libraries that an installation would add. Other packages (service scripts, users) are
 * only for a system installation. The C library is left out, because a process cannot run with
 * parts of two versions.
 */
async function missingLibraries(packages: string[], options: string[]): Promise<string[]> {
  const args = [...options, '--print-uris', '-y', '--no-install-recommends', 'install', ...packages];
  const result = await runCommand(APT_GET, args, { timeoutMs: STEP_TIMEOUT_MS });
  const files = result.stdout.split('\n').flatMap((line) => /^'[^']+' (\S+)_[^_\s]+_\w+\.deb /.exec(line)?.[1] ?? []);
  return files.filter((name) => name.startsWith('lib') && !name.startsWith('libc6') && !packages.includes(name));
}

function commonOptions(work: string): string[] {
  return [
    '-qq',
    ...option('Dir::Cache', work),
    ...option('Dir::Cache::archives', join(work, 'archives')),
    ...option('Dir::Log', join(work, 'log')),
    ...option('Debug::NoLocking', '1'),
    // Without root, the download would need a directory that the user _apt can write.
    ...option('APT::Sandbox::User', 'root'),
    ...option('Acquire::Retries', '1'),
    ...option('Acquire::http::Timeout', String(NETWORK_TIMEOUT_S)),
    ...option('Acquire::https::Timeout', String(NETWORK_TIMEOUT_S)),
  ];
}

function option(name: string, value: string): string[] {
  return ['-o', `${name}=${value}`];
}
