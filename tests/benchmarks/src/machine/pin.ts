import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { pidsOf } from './read-cpu.js';

const TASKSET_TIMEOUT_MS = 5_000;
/** Core of the measured processes, and core of the load, the provider and the measurement. */
const CORES = { measured: 0, load: 1 } as const;
export type Place = keyof typeof CORES;

/** The placement of the processes, for the report. */
export type Pinning = { readonly pinned: true } | { readonly pinned: false; readonly reason: string };

/** Checks whether processes can be pinned to cores. Needs two cores and `taskset`. */
export function examinePinning(): Pinning {
  if (availableParallelism() < 2) return { pinned: false, reason: 'the machine has one core' };
  try {
    taskset(['-V']);
    return { pinned: true };
  } catch {
    return { pinned: false, reason: 'taskset is not installed' };
  }
}

/** Pins processes to one core with all threads and with present and later descendants. */
export function pin(pinning: Pinning, roots: readonly number[], place: Place): void {
  if (!pinning.pinned) return;
  for (const pid of pidsOf(roots)) move(pid, place);
}

/**
 * Pins a process to one core, but not its existing children. Later children start on that core.
 * That matters because some programs create as many threads as they have cores, and these would
 * slow each other down on one core.
 */
export function pinAlone(pinning: Pinning, pid: number, place: Place): void {
  if (pinning.pinned) move(pid, place);
}

function move(pid: number, place: Place): void {
  taskset(['-a', '-c', '-p', String(CORES[place]), String(pid)]);
}

function taskset(args: readonly string[]): void {
  execFileSync('taskset', args, { stdio: 'ignore', timeout: TASKSET_TIMEOUT_MS });
}
