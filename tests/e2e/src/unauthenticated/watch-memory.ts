import { readFileSync } from 'node:fs';
import { SERVICES, type LocalSystem } from '@gateway/local';

/** Resident memory of one process at one time. */
export interface MemorySample {
  /** Time since the start of the watch. */
  readonly atMs: number;
  readonly replica: string;
  readonly pid: number;
  readonly bytes: number;
}

export interface MemoryWatch {
  readonly samples: readonly MemorySample[];
  stop(): void;
}

const EVERY_MS = 1_000;
const KIBIBYTE = 1024;

/** Samples the resident memory of every service once per second; needs /proc. */
export function watchMemory(system: LocalSystem): MemoryWatch {
  const samples: MemorySample[] = [];
  const beganMs = performance.now();
  const look = (): void => {
    const atMs = performance.now() - beganMs;
    const { pids } = system.running();
    for (const name of SERVICES) {
      for (const [index, pid] of (pids[name] ?? []).entries()) {
        const bytes = residentBytes(pid);
        if (bytes !== null) samples.push({ atMs, replica: `${name}-${index + 1}`, pid, bytes });
      }
    }
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return { samples, stop: () => clearInterval(timer) };
}

/** Returns null if the process has ended. */
function residentBytes(pid: number): number | null {
  try {
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? null : Number(kibibytes) * KIBIBYTE;
  } catch {
    return null;
  }
}
