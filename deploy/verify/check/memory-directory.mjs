import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, statfsSync } from 'node:fs';

const MEMORY = '/dev/shm';
const PREFIX = 'gateway-tests-';
/**
 * What a killed run left is removed when it is so old: a process id alone may be that of another
 * container.
 */
const LEFT_OVER_MS = 3_600_000;
/**
 * The servers of two suites and of the system that all end-to-end tests share take less than a
 * quarter of it.
 */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Lets the run's temporary files lie in memory where there is room for them, and removes them when
 * the process ends. Tests make and delete the files of hundreds of servers: ext4 searches what was
 * deleted within the last seconds each time it makes a file, which costs more than all that
 * PostgreSQL itself does. Elsewhere, and where TMPDIR is set, nothing changes.
 */
export function useMemoryDirectory(env = process.env, memory = MEMORY, freeBytesMin = FREE_BYTES_MIN) {
  if (env.TMPDIR || freeBytesOf(memory) < freeBytesMin) return null;
  sweepLeftOver(memory);
  const directory = mkdtempSync(`${memory}/${PREFIX}${process.pid}-`);
  // The database's own user must be able to pass through.
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
      // Somebody else's, or gone meanwhile.
    }
  }
}
