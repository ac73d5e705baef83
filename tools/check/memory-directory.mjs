import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
const PREFIX = 'gateway-tests-';
/** Age after which files of killed runs are removed. Other containers reuse process IDs. */
const LEFT_OVER_MS = 3_600_000;
/** Minimum free space. Shared servers, three suites and the end-to-end system use under 1 GiB. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Puts the run's temporary files in memory if there is room, and removes them when the process
 * ends. Tests create and delete the files of dozens of servers. ext4 searches recently deleted
 * entries each time it creates a file, which costs more than all of PostgreSQL's own work. If there
 * is no room or TMPDIR is set, nothing changes.
 */
export function useMemoryDirectory(env = process.env, memory = MEMORY, freeBytesMin = FREE_BYTES_MIN) {
  if (env.TMPDIR || freeBytesOf(memory) < freeBytesMin) return null;
  sweepLeftOver(memory);
  const directory = mkdtempSync(`${memory}/${PREFIX}${process.pid}-`);
  // The database's own user must be able to enter it.
  chmodSync(directory, 0o711);
  env.TMPDIR = directory;
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function freeBytesOf(directory) {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}

function sweepLeftOver(memory) {
  for (const name of readdirSync(memory)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      const path = `${memory}/${name}`;
      if (Date.now() - statSync(path).mtimeMs > LEFT_OVER_MS) rmSync(path, { recursive: true, force: true });
    } catch {
      // Owned by another user, or already removed.
    }
  }
}
