import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { pidsOf } from './processes.js';

const TASKSET_TIMEOUT_MS = 5_000;
/** Core of the measured processes, and core of the load, the provider and the measurement. */
const CORES = { measured: 0, load: 1 } as const;
type Place = keyof typeof CORES;

/** Returns why processes cannot be pinned to cores, or null. Needs two cores and `taskset`. */
export function findPinningObstacle(): string | null {
  if (availableParallelism() < 2) return 'the machine has one core';
  try {
    taskset(['-V']);
    return null;
  } catch {
    return 'taskset is not installed';
  }
}

/** Pins processes to one core with all threads and with present and later descendants. */
export function pin(roots: readonly number[], place: Place): void {
  for (const pid of pidsOf(roots)) pinAlone(pid, place);
}

/**
 * Pins a process to one core, but not its existing children. Later children start on that core.
 * That matters because some programs create as many threads as they have cores, and these would
 * slow each other down on one core.
 */
export function pinAlone(pid: number, place: Place): void {
  taskset(['-a', '-c', '-p', String(CORES[place]), String(pid)]);
}

function taskset(args: readonly string[]): void {
  execFileSync('taskset', args, { stdio: 'ignore', timeout: TASKSET_TIMEOUT_MS });
}
