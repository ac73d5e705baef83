import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { pidsOf } from './read-cpu.js';

const TASKSET_TIMEOUT_MS = 5_000;
/** Where what is measured runs, and where the load, the provider and the measuring run. */
const CORES = { measured: 0, load: 1 } as const;
export type Place = keyof typeof CORES;

/** How the processes were placed, for the reader of the results. */
export type Pinning = { readonly pinned: true } | { readonly pinned: false; readonly reason: string };

/** Whether processes can be kept apart here: two cores and `taskset` are needed. */
export function examinePinning(): Pinning {
  if (availableParallelism() < 2) return { pinned: false, reason: 'the machine has one core' };
  try {
    taskset(['-V']);
    return { pinned: true };
  } catch {
    return { pinned: false, reason: 'there is no taskset' };
  }
}

/**
 * Puts processes with all threads, and their descendants, on one core; what they start later
 * inherits it.
 */
export function pin(pinning: Pinning, roots: readonly number[], place: Place): void {
  if (!pinning.pinned) return;
  for (const pid of pidsOf(roots)) move(pid, place);
}

/**
 * Puts a process on one core, without those that it has started. What it starts from then on is
 * born there: some programs make as many threads as they may use cores, and these would get in each
 * other's way on one.
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
