import { readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isServing } from './left-over-server.js';

const ORIGIN_SUFFIX = '.origin';

/** Records the existing link to `outside`, so that a later start can recognize deleted state. */
export async function recordOrigin(outside: string, link: string): Promise<void> {
  await writeFile(`${outside}${ORIGIN_SUFFIX}`, link, { mode: 0o600 });
}

/** Deletes data directories next to `outside` that no link points to and no server uses. */
export async function sweepOutside(outside: string): Promise<void> {
  const base = dirname(outside);
  const names = (await readdir(base)).filter((name) => name.endsWith(ORIGIN_SUFFIX));
  for (const name of names) {
    const directory = join(base, basename(name, ORIGIN_SUFFIX));
    const link = await readFile(join(base, name), 'utf8').catch(() => null);
    if (link === null || (await readlink(link).catch(() => null)) === directory) continue;
    const data = join(directory, 'data');
    const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
    if (pid > 0 && (await isServing({ pid, mark: data }))) continue;
    await rm(directory, { recursive: true, force: true });
    await rm(join(base, name), { force: true });
  }
}
