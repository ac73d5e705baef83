import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand, send, waitUntil } from './run-command.js';
import type { ServerName } from './server.js';

const END_WAIT_MS = 10_000;
const KILL_WAIT_MS = 5_000;

interface PidRecord {
  pid: number;
  starterPid: number;
  /** An argument of the server's command line. */
  mark: string;
}

/** Records the process that serves this state directory, for the next start. */
export async function recordServer(stateDirectory: string, name: ServerName, record: PidRecord): Promise<void> {
  await mkdir(join(stateDirectory, 'pids'), { recursive: true });
  await writeFile(recordFile(stateDirectory, name), JSON.stringify(record), { mode: 0o600 });
}

export async function removeRecord(stateDirectory: string, name: ServerName): Promise<void> {
  await rm(recordFile(stateDirectory, name), { force: true });
}

/**
 * Ensures that no earlier server uses this state directory. If its starter has ended, the server
 * gets a stop signal, then time to end, then SIGKILL. If its starter is running, throws an error. A
 * pid that another program has taken since is left alone.
 */
export async function endLeftOverServer(stateDirectory: string, name: ServerName): Promise<void> {
  const record = await readRecord(recordFile(stateDirectory, name));
  if (record === null || !(await isServing(record))) return;
  if (isAlive(record.starterPid)) {
    throw new Error(
      `the state directory ${stateDirectory} is in use: ${name} runs as process ${record.pid} of process ${record.starterPid}`,
    );
  }
  const hasEnded = async (): Promise<boolean> => !(await isServing(record));
  send(record.pid, 'SIGINT');
  if (await waitUntil(END_WAIT_MS, hasEnded)) return;
  send(record.pid, 'SIGKILL');
  if (await waitUntil(KILL_WAIT_MS, hasEnded)) return;
  throw new Error(`${name} of an earlier run (process ${record.pid}) does not end`);
}

/**
 * Removes PostgreSQL's lock file if another program has its pid: PostgreSQL would take that program
 * for itself and refuse to start. If no process has the pid, the file stays, because PostgreSQL
 * then checks for remaining backends first.
 */
export async function removeForeignLock(data: string): Promise<void> {
  const pid = await readLock(data);
  if (isAlive(pid) && !(await isServing({ pid, mark: data }))) await rm(join(data, 'postmaster.pid'), { force: true });
}

/** Returns the pid in PostgreSQL's lock file; 0 if there is none. */
export async function readLock(data: string): Promise<number> {
  return Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')) || 0;
}

/** Reports whether `pid` is a process with `mark` in its command line. */
export async function isServing({ pid, mark }: { pid: number; mark: string }): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return line.split('\0').includes(mark);
  }
  return (await runCommand('/bin/ps', ['-o', 'command=', '-p', String(pid)])).stdout.includes(mark);
}

function isAlive(pid: number): boolean {
  try {
    // 0 would be the own process group.
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function readRecord(file: string): Promise<PidRecord | null> {
  try {
    const { pid, starterPid, mark } = JSON.parse(await readFile(file, 'utf8')) as Partial<PidRecord>;
    return pid && starterPid && mark ? { pid, starterPid, mark } : null;
  } catch {
    return null;
  }
}

function recordFile(stateDirectory: string, name: ServerName): string {
  return join(stateDirectory, 'pids', `${name}.json`);
}
