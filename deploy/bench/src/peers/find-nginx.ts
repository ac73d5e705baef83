import { execFile } from 'node:child_process';
import { access, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { PLACES } from '../places.js';

export interface NginxProgram {
  readonly path: string;
  /** Libraries that were fetched with it. */
  readonly env: Readonly<Record<string, string>>;
}

const SYSTEM_PATH = '/usr/sbin/nginx';
const STEP_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/**
 * The system's nginx, or Debian's package with the libraries that it misses here, unpacked once into the cache directory: needs
 * no root and installs nothing. @throws Error when neither can be had.
 */
export async function findNginx(log: (line: string) => void): Promise<NginxProgram> {
  if (await exists(SYSTEM_PATH)) return { path: SYSTEM_PATH, env: {} };
  const place = `${PLACES.debian}/${await systemName()}-${process.arch}/nginx`;
  if (!(await exists(place))) {
    log('fetching the Debian package nginx');
    await fetchPackages(place);
  }
  const libraries = (await readdir(`${place}/usr/lib`).catch(() => [])).filter((name) => name.includes('-linux-'));
  const path = libraries.map((name) => `${place}/usr/lib/${name}`).join(':');
  return { path: `${place}/usr/sbin/nginx`, env: path === '' ? {} : { LD_LIBRARY_PATH: path } };
}

/** The directory gets its name only when it is complete. */
async function fetchPackages(place: string): Promise<void> {
  const draft = `${place}.draft-${process.pid}`;
  try {
    await mkdir(`${draft}/archives/partial`, { recursive: true });
    await mkdir(`${draft}/root`);
    const options = [
      '-qq',
      ...['Dir::Cache=' + draft, 'Debug::NoLocking=1', 'APT::Sandbox::User=root'].flatMap((option) => ['-o', option]),
    ];
    const settings = { cwd: draft, timeout: STEP_TIMEOUT_MS };
    const missing = ['--print-uris', '-y', '--no-install-recommends', 'install', 'nginx'];
    const { stdout } = await run('apt-get', [...options, ...missing], settings);
    const names = stdout.split('\n').flatMap((line) => /^'[^']+' ([^_\s]+)_/.exec(line)?.[1] ?? []);
    // The C library is left out: a process cannot run with parts of two of them.
    const libraries = names.filter((name) => name.startsWith('lib') && !name.startsWith('libc6'));
    await run('apt-get', [...options, 'download', 'nginx', ...libraries], settings);
    for (const file of (await readdir(draft)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', `${draft}/${file}`, `${draft}/root`], settings);
    }
    await rename(`${draft}/root`, place);
  } catch (error) {
    throw new Error(`nginx could not be fetched: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** For example debian-12: programs of one release are not used on another. */
async function systemName(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (name: string): string => new RegExp(`^${name}="?([\\w.-]+)"?$`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${value('ID')}-${value('VERSION_ID')}`;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
