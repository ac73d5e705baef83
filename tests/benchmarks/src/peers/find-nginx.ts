import { access, readFile, readdir } from 'node:fs/promises';
import { fetchDebianPackages } from '@gateway/servers';
import { DIRECTORIES } from '../bench-context.js';

export interface NginxProgram {
  readonly path: string;
  /** Sets the path of libraries that were downloaded with it. */
  readonly env: Readonly<Record<string, string>>;
}

const SYSTEM_PATH = '/usr/sbin/nginx';

/**
 * Finds the system's nginx, or unpacks Debian's package with its missing libraries once into the
 * cache directory. Needs no root and installs nothing. @throws Error if neither is available
 */
export async function findNginx(log: (line: string) => void): Promise<NginxProgram> {
  if (await exists(SYSTEM_PATH)) return { path: SYSTEM_PATH, env: {} };
  const place = `${DIRECTORIES.debian}/${await systemName()}-${process.arch}/nginx`;
  if (!(await exists(place))) {
    await fetchDebianPackages(['nginx'], place, log, () => Promise.resolve(null));
  }
  const libraries = (await readdir(`${place}/usr/lib`).catch(() => [])).filter((name) => name.includes('-linux-'));
  const path = libraries.map((name) => `${place}/usr/lib/${name}`).join(':');
  return { path: `${place}/usr/sbin/nginx`, env: path === '' ? {} : { LD_LIBRARY_PATH: path } };
}

/** Returns for example debian-12. Programs of one release are not used on another. */
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
