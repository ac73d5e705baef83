import { access, readFile, readdir } from 'node:fs/promises';
import { fetchDebianPackages } from '@gateway/servers';
import { PLACES } from '../places.js';

export interface NginxProgram {
  readonly path: string;
  /** Libraries that were fetched with it. */
  readonly env: Readonly<Record<string, string>>;
}

const SYSTEM_PATH = '/usr/sbin/nginx';

/**
 * The system's nginx, or Debian's package with the libraries that it misses here, unpacked once
 * into the cache directory: needs no root and installs nothing. @throws Error when neither can be
 * had.
 */
export async function findNginx(log: (line: string) => void): Promise<NginxProgram> {
  if (await exists(SYSTEM_PATH)) return { path: SYSTEM_PATH, env: {} };
  const place = `${PLACES.debian}/${await systemName()}-${process.arch}/nginx`;
  if (!(await exists(place))) {
    await fetchDebianPackages(['nginx'], place, log, () => Promise.resolve(null));
  }
  const libraries = (await readdir(`${place}/usr/lib`).catch(() => [])).filter((name) => name.includes('-linux-'));
  const path = libraries.map((name) => `${place}/usr/lib/${name}`).join(':');
  return { path: `${place}/usr/sbin/nginx`, env: path === '' ? {} : { LD_LIBRARY_PATH: path } };
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
