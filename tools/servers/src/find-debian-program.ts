import { access, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchDebianPackages } from './fetch-debian-packages.js';
import { examineProgram } from './find-binaries.js';
import type { ProgramSearch, ServerKind } from './server-kind.js';

export interface DebianProgram {
  packages: string[];
  /** Relative to the root of the unpacked packages. */
  program: string;
}

/**
 * Finds a server in Debian packages, which are unpacked into the cache directory without root and
 * without an installation. Without `fetch` it only checks whether the packages were fetched before
 * or could be.
 */
export async function findDebianProgram(
  kind: ServerKind,
  wanted: DebianProgram,
  cacheDirectory: string,
  { fetch, log }: { fetch: boolean; log(line: string): void },
): Promise<ProgramSearch> {
  const missing = await missingTools();
  if (missing !== null) return nothing(`packages cannot be fetched: ${missing}`);
  const place = join(cacheDirectory, `${await systemName()}-${process.arch}`, kind.name);
  if (!(await exists(place))) {
    const names = wanted.packages.join(', ');
    if (!fetch) return { ...nothing(`${names} not fetched yet`), fetchable: `Debian packages ${names}` };
    try {
      await fetchDebianPackages(wanted.packages, place, log, async (draft) => {
        const program = await examine(kind, wanted, draft);
        return typeof program === 'string' ? program : null;
      });
    } catch (error) {
      return nothing((error as Error).message);
    }
  }
  const program = await examine(kind, wanted, place);
  if (typeof program === 'string') return nothing(program);
  return {
    programs: [{ ...program, resolver: 'project', source: `Debian package ${wanted.packages[0]} in ${place}` }],
    reasons: [],
  };
}

async function examine(kind: ServerKind, wanted: DebianProgram, root: string): ReturnType<typeof examineProgram> {
  const libraries = await libraryDirectories(root);
  const env: Record<string, string> = libraries.length > 0 ? { LD_LIBRARY_PATH: libraries.join(':') } : {};
  return examineProgram(kind, join(root, wanted.program), env);
}

async function libraryDirectories(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const base of ['usr/lib', 'lib']) {
    const names = await readdir(join(root, base)).catch(() => []);
    for (const name of names.filter((entry) => entry.includes('-linux-'))) found.push(join(root, base, name));
  }
  return found;
}

/** Returns for example debian-12. Programs of one release are not used on another. */
async function systemName(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (name: string): string => new RegExp(`^${name}="?([\\w.-]+)"?$`, 'm').exec(text)?.[1] ?? 'unknown';
  return `${value('ID')}-${value('VERSION_ID')}`;
}

async function missingTools(): Promise<string | null> {
  for (const tool of ['/usr/bin/apt-get', '/usr/bin/dpkg-deb']) {
    if (!(await exists(tool))) return `this system has no ${tool}`;
  }
  return null;
}

function nothing(reason: string): ProgramSearch {
  return { programs: [], reasons: [reason] };
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
